// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/record.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/fill_number.hpp>
#include <zarrpoint/zarr/fill_value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE fill_value fill_value::zero(const dtype& type) {
  fill_value out;
  out.bytes_.resize(type.size());
  out.null_ = false;
  return out;
}

ZARRPOINT_INLINE fill_value fill_value::undefined(const dtype& type) {
  fill_value out = zero(type);
  out.null_ = true;
  return out;
}

ZARRPOINT_INLINE fill_value fill_value::of_bytes(bytes_view element) {
  fill_value out;
  out.bytes_ = as_text(element);
  out.null_ = false;
  return out;
}

ZARRPOINT_INLINE fill_value fill_value::of_text(std::string text) {
  fill_value out;
  out.text_ = std::move(text);
  out.null_ = false;
  return out;
}

namespace detail {

/// Bytes as base64, or one integer each. Fewer than `size` are followed by zeros where `short_ok`.
ZARRPOINT_INLINE result<std::string> parse_bytes_fill(const node& value,
                                                      std::optional<std::size_t> size,
                                                      bool short_ok) {
  std::string out;
  if (const std::string* text = value.if_string()) {
    std::optional<std::string> decoded = detail::from_base64(*text);
    if (!decoded) return corrupt(in_quotes(*text) + " is not base64");
    out = *std::move(decoded);
  } else if (const node::array* list = value.if_array()) {
    for (const node& one : *list) {
      const auto byte = integral_int64(one);
      if (!byte || *byte < 0 || *byte > 255) return corrupt("must be integers from 0 to 255");
      out += static_cast<char>(static_cast<unsigned char>(*byte));
    }
  } else {
    return corrupt("must be base64 or a list of bytes");
  }
  if (!size) return out;
  if (out.size() > *size || (out.size() < *size && !short_ok))
    return corrupt("has " + std::to_string(out.size()) + " bytes, not " + std::to_string(*size));
  out.resize(*size);
  return out;
}

ZARRPOINT_INLINE result<void> parse_utf32_fill(const node& value, const dtype& type,
                                               std::byte* to) {
  const std::string* text = value.if_string();
  if (text == nullptr) return corrupt("must be a string");
  std::string_view rest = *text;
  for (std::size_t at = 0; !rest.empty(); at += 4) {
    const std::optional<char32_t> code_point = take_code_point(rest);
    if (!code_point) return corrupt(in_quotes(*text) + " is not UTF-8");
    if (at == type.size())
      return corrupt(in_quotes(*text) + " has more than " + std::to_string(type.size() / 4) +
                     " code points");
    store_native(to + at, *code_point, 4);
  }
  return {};
}

ZARRPOINT_INLINE result<node> utf32_fill_to_node(bytes_view element) {
  std::string text;
  std::size_t size = element.size();
  while (size != 0 && load_native(element.data() + size - 4, 4) == 0) size -= 4;
  for (std::size_t at = 0; at < size; at += 4) {
    const auto code_point = static_cast<char32_t>(load_native(element.data() + at, 4));
    if (!append_code_point(text, code_point))
      return error{errc::invalid_argument,
                   "the fill value holds a number that is not a Unicode code point"};
  }
  return node(std::move(text));
}

result<void> parse_element_fill(const node& value, const dtype& type, int zarr_format,
                                std::byte* to);

/// An object with a value for each field; a list of them; or all bytes of the record as base64.
ZARRPOINT_INLINE result<void> parse_record_fill(const node& value, const dtype& type,
                                                int zarr_format, std::byte* to) {
  const std::span<const record_field> fields = fields_of(type);
  const node::array* list = value.if_array();
  if (value.if_object() == nullptr && (list == nullptr || list->size() != fields.size())) {
    ZARRPOINT_TRY(bytes, parse_bytes_fill(value, type.size(), false));
    std::memcpy(to, bytes.data(), bytes.size());
    // As the codec `bytes` reads elements: bools are 0 or 1, bits that hold nothing are 0.
    for_each_scalar(type, [&](std::size_t at, const dtype& scalar) {
      if (scalar == dtype_kind::bool_) to[at] = static_cast<std::byte>(to[at] != std::byte{0});
      for (std::size_t j = 0; scalar.is_below_byte() && j < scalar.size(); ++j)
        to[at + j] &= static_cast<std::byte>((1U << scalar.bits()) - 1);
    });
    return {};
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const record_field& one = fields[i];
    const node* given = list != nullptr ? &(*list)[i] : value.find(one.name);
    if (given == nullptr) return corrupt("has no value for field " + in_quotes(one.name));
    if (one.shape.rank() != 0) return unsupported("field " + in_quotes(one.name) + " is an array");
    ZARRPOINT_CHECK(
        parse_element_fill(*given, one.type, zarr_format, to + one.offset).at(in_quotes(one.name)));
  }
  if (list == nullptr && value.if_object()->size() != fields.size())
    return corrupt("has values for fields that the data type does not have");
  return {};
}

/// Writes an element of fixed size to `to`, which is zero.
ZARRPOINT_INLINE result<void> parse_element_fill(const node& value, const dtype& type,
                                                 int zarr_format, std::byte* to) {
  switch (type.kind()) {
    case dtype_kind::record: return parse_record_fill(value, type, zarr_format, to);
    case dtype_kind::fixed_length_utf32:
      if (value == node(0)) return {};
      return parse_utf32_fill(value, type, to);
    case dtype_kind::raw:
    case dtype_kind::null_terminated_bytes: {
      if (value == node(0)) return {};  // numpy's zero, written by zarr-python 2
      const bool short_ok = type.kind() == dtype_kind::null_terminated_bytes;
      result<std::string> bytes = parse_bytes_fill(value, type.size(), short_ok);
      // netCDF-C writes the bytes themselves, such as "\u0000".
      const std::string* const text = value.if_string();
      if (!bytes && zarr_format == 2 && short_ok && text != nullptr && text->size() <= type.size())
        bytes = *text;
      if (!bytes) return std::move(bytes).failure();
      std::memcpy(to, bytes->data(), bytes->size());
      return {};
    }
    default: return parse_number_fill(value, type, zarr_format, to);
  }
}

ZARRPOINT_INLINE result<node> element_fill_to_node(bytes_view element, const dtype& type,
                                                   int zarr_format) {
  switch (type.kind()) {
    case dtype_kind::record: {
      if (zarr_format == 2) return node(detail::to_base64(element));
      node::object out;
      for (const record_field& one : fields_of(type)) {
        ZARRPOINT_TRY(value, element_fill_to_node(element.subspan(one.offset, one.type.size()),
                                                  one.type, zarr_format));
        out.push_back({one.name, std::move(value)});
      }
      return node(std::move(out));
    }
    case dtype_kind::fixed_length_utf32: return utf32_fill_to_node(element);
    case dtype_kind::raw:
    case dtype_kind::null_terminated_bytes: return node(detail::to_base64(element));
    default: return number_fill_to_node(element.data(), type, zarr_format);
  }
}

ZARRPOINT_INLINE result<fill_value> parse_fill_value(const node& value, const dtype& type,
                                                     int zarr_format) {
  ZARRPOINT_ASSERT(type.valid());
  if (value.is_null() && zarr_format == 2) return fill_value::undefined(type);
  if (type.is_variable()) {
    // numpy's zero of an object array, written by zarr-python 2.
    if (zarr_format == 2 && value.to_int64() == 0) return fill_value::zero(type);
    if (type.kind() == dtype_kind::bytes) {
      ZARRPOINT_TRY(bytes, detail::parse_bytes_fill(value, std::nullopt, true));
      return fill_value::of_text(std::move(bytes));
    }
    if (const std::string* text = value.if_string()) return fill_value::of_text(*text);
    return detail::corrupt("must be a string");
  }
  std::string element(type.size(), '\0');
  ZARRPOINT_CHECK(detail::parse_element_fill(value, type, zarr_format,
                                             reinterpret_cast<std::byte*>(element.data())));
  return fill_value::of_bytes(as_bytes(std::string_view(element)));
}

ZARRPOINT_INLINE result<node> fill_value_to_node(const fill_value& fill, const dtype& type,
                                                 int zarr_format) {
  if (fill.is_null() && zarr_format == 2) return node();
  if (fill.bytes().size() != type.size() && !(fill.is_null() && fill.bytes().empty()))
    return error{errc::invalid_argument,
                 "fill value is not of type " + std::string(to_string(type))};
  if (type.kind() == dtype_kind::string) return node(fill.text());
  if (type.kind() == dtype_kind::bytes)
    return node(detail::to_base64(as_bytes(std::string_view(fill.text()))));
  const fill_value zero = fill_value::zero(type);
  return detail::element_fill_to_node((fill.bytes().empty() ? zero : fill).bytes(), type,
                                      zarr_format);
}

}  // namespace detail

}}  // namespace zarrpoint::v0
