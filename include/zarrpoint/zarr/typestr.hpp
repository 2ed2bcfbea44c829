// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/dtype.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/document.hpp>

#include <string>
#include <string_view>

namespace zarrpoint::inline v0 {

/// A data type of Zarr v2, with the byte order that v2 makes a part of it.
struct v2_dtype {
  dtype type;
  endian order = endian::little;

  friend bool operator==(const v2_dtype&, const v2_dtype&) = default;
};

namespace detail {

/// Small floats have no typestr; TensorStore, and so JAX, writes the bare name (little endian).
constexpr bool has_bare_name_in_v2(dtype type) {
  return type.kind() == dtype_kind::bfloat16 || type.kind() == dtype_kind::float8_e4m3fn ||
         type.kind() == dtype_kind::float8_e5m2;
}

/// The kind and size of a typestr, without the byte order, for types without a bare name.
inline std::string typestr_body(dtype type) {
  if (type.kind() == dtype_kind::string) return "O";
  const char kind = type.kind() == dtype_kind::bool_ ? 'b'
                    : type.is_signed_integer()       ? 'i'
                    : type.is_unsigned_integer()     ? 'u'
                    : type.is_floating()             ? 'f'
                                                     : 'c';
  return kind + std::to_string(type.size());
}

}  // namespace detail

/// The `dtype` of a `.zarray`: a NumPy typestr such as `<f4`, `|O` for strings, or the bare name
/// of a small float. Errors: `unsupported`, naming it.
inline result<v2_dtype> parse_v2_dtype(const node& value) {
  const std::string* text = value.if_string();
  if (text == nullptr) {
    if (value.if_array() != nullptr)
      return detail::unsupported("structured data types are not supported");
    return detail::corrupt("must be a string");
  }
  if (const auto named = parse_dtype(*text); named && detail::has_bare_name_in_v2(*named))
    return v2_dtype{*named, endian::little};
  const char order = text->empty() ? '\0' : text->front();
  if (order == '<' || order == '>' || order == '|') {
    for (const dtype_kind kind : all_dtype_kinds) {
      const dtype type(kind);
      if (detail::has_bare_name_in_v2(type)) continue;
      if (std::string_view(*text).substr(1) != detail::typestr_body(type)) continue;
      // "|" says that there is no order to speak of, which is wrong for wider elements.
      if (order == '|' && type.scalar_size() > 1) break;
      return v2_dtype{type, order == '>' ? endian::big : endian::little};
    }
  }
  return detail::unsupported("data type " + detail::in_quotes(*text) + " is not supported");
}

/// The `dtype` of a `.zarray`. Errors: `unsupported` for a big-endian bfloat16, which has no name.
inline result<std::string> to_v2_dtype(const v2_dtype& value) {
  if (detail::has_bare_name_in_v2(value.type)) {
    if (value.order == endian::big && value.type.size() > 1)
      return detail::unsupported("Zarr v2 has no big-endian " + std::string(to_string(value.type)));
    return std::string(to_string(value.type));
  }
  const char order = value.type.scalar_size() == 1 ? '|' : value.order == endian::big ? '>' : '<';
  return order + detail::typestr_body(value.type);
}

}  // namespace zarrpoint::inline v0
