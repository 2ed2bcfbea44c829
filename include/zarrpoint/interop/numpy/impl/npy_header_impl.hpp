// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/numpy/npy_header.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/zarr/v2/typestr.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace numpy {

namespace detail {

inline constexpr std::string_view magic("\x93NUMPY", 6);

ZARRPOINT_INLINE error broken(std::string_view what) {
  return {errc::corrupt, "npy header: " + std::string(what)};
}

ZARRPOINT_INLINE error unsupported_descr(std::string_view descr) {
  return {errc::unsupported, "npy: descr " + v0::detail::in_quotes(descr) +
                                 " is not supported (bool, integers, float16 to 64, complex, "
                                 "times, strings U and S, and bytes V are)"};
}

/// Reads the literal of a Python dictionary, of which numpy writes one form only.
class literal {
 public:
  explicit literal(std::string_view text) : text_(text) {}

  bool take(char c) {
    skip_blanks();
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool at_end() {
    skip_blanks();
    return text_.empty();
  }
  std::optional<std::string_view> string() {
    skip_blanks();
    if (text_.starts_with("u'") || text_.starts_with("u\"")) text_.remove_prefix(1);  // of Python 2
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_[0], 1);
    if (end == text_.npos) return std::nullopt;
    const std::string_view out = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return out;
  }
  std::optional<bool> boolean() {
    skip_blanks();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    return std::nullopt;
  }
  std::optional<index_t> length() {
    skip_blanks();
    index_t value = -1;
    const auto [end, status] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (status != std::errc() || value < 0) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    if (text_.starts_with('L')) text_.remove_prefix(1);  // of Python 2
    return value;
  }
  std::string_view rest() const { return text_; }

 private:
  void skip_blanks() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t'))
      text_.remove_prefix(1);
  }
  std::string_view text_;
};

ZARRPOINT_INLINE result<dims> parse_shape(literal& from) {
  if (!from.take('(')) return broken("\"shape\" is not a tuple");
  dims shape;
  while (!from.take(')')) {
    const auto extent = from.length();
    if (!extent) return broken("\"shape\" holds something other than lengths");
    if (shape.rank() == max_rank)
      return error{errc::unsupported, "npy: more than " + std::to_string(max_rank) + " dimensions"};
    shape.push_back(*extent);
    if (!from.take(',') && !from.rest().starts_with(')')) return broken("\"shape\" is malformed");
  }
  return shape;
}

ZARRPOINT_INLINE dtype numeric_dtype(char kind, std::size_t size) {
  using enum dtype_kind;
  struct entry {
    char kind;
    std::size_t size;
    dtype_kind type;
  };
  constexpr entry known[] = {{'b', 1, bool_},     {'i', 1, int8},       {'i', 2, int16},
                             {'i', 4, int32},     {'i', 8, int64},      {'u', 1, uint8},
                             {'u', 2, uint16},    {'u', 4, uint32},     {'u', 8, uint64},
                             {'f', 2, float16},   {'f', 4, float32},    {'f', 8, float64},
                             {'c', 8, complex64}, {'c', 16, complex128}};
  for (const entry& one : known) {
    if (one.kind == kind && one.size == size) return one.type;
  }
  return {};
}

ZARRPOINT_INLINE result<void> parse_descr(std::string_view descr, npy_header& out) {
  if (descr.size() < 3) return unsupported_descr(descr);
  if (descr[1] == 'V' || descr[1] == 'M' || descr[1] == 'm') {  // as Zarr v2 has them
    const std::string order = descr[0] == '=' ? "<" : std::string(descr.substr(0, 1));
    const auto read = v0::detail::parse_v2_dtype(node(order + std::string(descr.substr(1))));
    if (!read || read->type.size() == 0) return unsupported_descr(descr);
    out.spec.type = read->type;
    out.order = read->type.scalar_size() > 1 ? read->order : endian::little;
    return {};
  }
  std::size_t size = 0;
  const auto [end, status] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), size);
  if (status != std::errc() || end != descr.data() + descr.size()) return unsupported_descr(descr);
  if (std::string_view("<>|=").find(descr[0]) == std::string_view::npos)
    return unsupported_descr(descr);
  if (descr[1] == 'U') {
    if (size > (std::size_t{1} << 28)) return unsupported_descr(descr);
    out.spec.type = dtype_kind::string;
    out.text_length = size;
  } else if (descr[1] == 'S' && size != 0 && size <= (std::size_t{1} << 30)) {
    out.spec.type = dtype::null_terminated(size);
  } else {
    out.spec.type = numeric_dtype(descr[1], size);
    if (!out.spec.type.valid()) return unsupported_descr(descr);
  }
  const bool is_wide = out.text_length != 0 || out.spec.type.scalar_size() > 1;
  out.order = descr[0] == '>' && is_wide ? endian::big : endian::little;
  return {};
}

ZARRPOINT_INLINE result<void> parse_dictionary(literal from, npy_header& out) {
  if (!from.take('{')) return broken("it is not a dictionary");
  unsigned seen = 0;
  while (!from.take('}')) {
    const auto key = from.string();
    if (!key || !from.take(':')) return broken("it is not a dictionary");
    if (*key == "descr") {
      seen |= 1U;
      const auto descr = from.string();
      if (!descr)  // a list of fields: a structure
        return error{errc::unsupported, "npy: structured elements are not supported"};
      ZARRPOINT_CHECK(parse_descr(*descr, out));
    } else if (*key == "fortran_order") {
      seen |= 2U;
      const auto value = from.boolean();
      if (!value) return broken("\"fortran_order\" is not a bool");
      out.fortran_order = *value;
    } else if (*key == "shape") {
      seen |= 4U;
      ZARRPOINT_TRY(shape, parse_shape(from));
      out.spec.shape = shape;
    } else {
      return broken("unknown member " + v0::detail::in_quotes(*key));
    }
    if (!from.take(',') && !from.rest().starts_with('}'))
      return broken("the dictionary is malformed");
  }
  if (seen != 7U) return broken("descr, fortran_order or shape is missing");
  if (!from.at_end()) return broken("text after the dictionary");
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE bool begins_npy(bytes_view file) {
  return as_text(file).starts_with(detail::magic);
}

ZARRPOINT_INLINE result<npy_header> parse_npy(bytes_view file) {
  const std::string_view text = as_text(file);
  if (!begins_npy(file)) return detail::broken("it does not begin with \\x93NUMPY");
  if (text.size() < 10) return detail::broken("it is cut short");
  const auto byte = [&](std::size_t i) {
    return std::uint32_t{static_cast<unsigned char>(text[i])};
  };
  const std::uint32_t version = byte(6);
  if (version < 1 || version > 3)
    return error{errc::unsupported, "unknown npy format version " + std::to_string(version)};
  const std::size_t prefix = version == 1 ? 10 : 12;
  if (text.size() < prefix) return detail::broken("it is cut short");
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > npy_header_limit - prefix)
    return error{errc::resource_limit, "npy header of " + std::to_string(length) + " bytes"};
  if (text.size() - prefix < length) return detail::broken("it is cut short");
  npy_header out;
  out.data_offset = prefix + length;
  ZARRPOINT_CHECK(detail::parse_dictionary(detail::literal(text.substr(prefix, length)), out));
  ZARRPOINT_CHECK(out.data_bytes());
  ZARRPOINT_CHECK(byte_count(out.spec.shape, memory_size(out.spec.type)));
  return out;
}

}}}  // namespace zarrpoint::v0::numpy
