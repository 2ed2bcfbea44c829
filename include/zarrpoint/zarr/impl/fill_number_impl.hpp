// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/float_bits.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/fill_number.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A float given as "NaN", "Infinity", "-Infinity" or, in v3, the hex digits of its bits.
ZARRPOINT_INLINE result<std::uint64_t> parse_float_text(const std::string& text, const dtype& type,
                                                        int zarr_format) {
  if (text == "NaN") {
    if (has_nan(type)) return nan_bits(type);
    return corrupt(std::string(to_string(type)) + " cannot be NaN");
  }
  if (text == "Infinity" || text == "-Infinity") {
    const double infinity = std::numeric_limits<double>::infinity();
    if (has_infinity(type)) return float_bits(type, text == "Infinity" ? infinity : -infinity);
    return corrupt(std::string(to_string(type)) + " cannot be infinite");
  }
  if (zarr_format == 3 && text.starts_with("0x")) {
    const std::string_view digits = std::string_view(text).substr(2);
    std::uint64_t bits = 0;
    const auto [end, status] =
        std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
    if (digits.size() != 2 * type.size() || status != std::errc() ||
        end != digits.data() + digits.size())
      return corrupt(in_quotes(text) + " must have " + std::to_string(2 * type.size()) +
                     " hex digits");
    if (type.is_below_byte()) bits &= (std::uint64_t{1} << type.bits()) - 1;
    return bits;
  }
  // JavaScript writes 1e20 as an integer, which `json_limits::keep_text` leaves as its digits.
  if (text.size() > 19) {
    const auto digits = parse_json(as_bytes(std::string_view(text + ".0")));
    if (digits && digits->is_number()) return float_bits(type, *digits->to_double());
  }
  return corrupt(in_quotes(text) + " is not a number");
}

ZARRPOINT_INLINE result<std::uint64_t> parse_float_fill(const node& value, const dtype& type,
                                                        int zarr_format) {
  if (value.is_number()) {
    const double number = *value.to_double();
    if (!std::isfinite(number)) {
      // A bare NaN is not JSON, but zarr-python 3.0.0 and 3.0.1 wrote it.
      if (zarr_format != 2) return corrupt("NaN and Infinity must be strings");
      return parse_float_text(dump_json(value), type, zarr_format);
    }
    // Without a zero, TensorStore's default of 0.0 is the smallest number there is.
    if (number == 0 && type.kind() == dtype_kind::float8_e8m0fnu) return std::uint64_t{0};
    return float_bits(type, number);
  }
  if (const std::string* text = value.if_string())
    return parse_float_text(*text, type, zarr_format);
  return corrupt("must be a number or a string");
}

ZARRPOINT_INLINE result<node> float_fill_to_node(std::uint64_t bits, const dtype& type,
                                                 int zarr_format) {
  const double value = float_value(type, bits);
  // zarrs reads numbers of these types only with an optional feature; hex digits are read by all.
  const bool needs_hex = type.size() == 1 || (std::isnan(value) && bits != nan_bits(type));
  if (needs_hex && zarr_format == 3) {
    std::string text = "0x";
    for (std::size_t i = 2 * type.size(); i-- > 0;)
      text += "0123456789abcdef"[(bits >> (4 * i)) & 15];
    return node(std::move(text));
  }
  if (std::isnan(value)) {
    if (bits != nan_bits(type)) return unsupported("Zarr v2 cannot hold a NaN with a payload");
    return node("NaN");
  }
  if (std::isinf(value)) return node(value > 0 ? "Infinity" : "-Infinity");
  return node(value);
}

ZARRPOINT_INLINE std::uint64_t load_native(const std::byte* from, std::size_t size) {
  std::uint64_t bits = 0;
  const std::size_t skip = native_endian == endian::little ? 0 : sizeof bits - size;
  std::memcpy(reinterpret_cast<std::byte*>(&bits) + skip, from, size);
  return bits;
}

ZARRPOINT_INLINE void store_native(std::byte* to, std::uint64_t bits, std::size_t size) {
  const std::size_t skip = native_endian == endian::little ? 0 : sizeof bits - size;
  std::memcpy(to, reinterpret_cast<const std::byte*>(&bits) + skip, size);
}

ZARRPOINT_INLINE result<std::uint64_t> parse_integer_fill(const node& value, const dtype& type) {
  const auto width = static_cast<unsigned>(type.bits());
  const std::uint64_t all = std::numeric_limits<std::uint64_t>::max() >> (64 - width);
  if (type.is_signed_integer()) {
    const auto number = integral_int64(value);
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() >> (64 - width);
    if (number && *number >= -most - 1 && *number <= most)
      return static_cast<std::uint64_t>(*number) & all;
  } else {
    const auto number = integral_uint64(value);
    if (number && *number <= all) return *number;
  }
  return corrupt("must be an integer that fits " + std::string(to_string(type)));
}

ZARRPOINT_INLINE result<std::uint64_t> parse_bool_fill(const node& value) {
  if (const bool* truth = value.if_bool()) return std::uint64_t{*truth ? 1U : 0U};
  // zarr-python has written 0 for false.
  if (const auto number = value.to_int64(); number && (*number == 0 || *number == 1))
    return static_cast<std::uint64_t>(*number);
  return corrupt("must be a boolean");
}

ZARRPOINT_INLINE result<std::uint64_t> parse_time_fill(const node& value) {
  if (value == node("NaT")) return std::uint64_t{1} << 63;
  if (const auto number = integral_int64(value)) return static_cast<std::uint64_t>(*number);
  return corrupt("must be an integer or \"NaT\"");
}

/// Zarr v2: a number in quotes, as zarr-python 2 wrote it where it was given so, or in a list, as
/// netCDF-C 4.8.0 wrote it.
ZARRPOINT_INLINE std::optional<node> wrapped_number(const node& value, int zarr_format) {
  if (zarr_format != 2) return std::nullopt;
  if (const node::array* const list = value.if_array(); list != nullptr && list->size() == 1)
    return list->front();
  const std::string* const text = value.if_string();
  if (text == nullptr) return std::nullopt;
  json_limits strict;
  strict.allow_nan_literals = false;
  auto parsed = parse_json(as_bytes(std::string_view(*text)), strict);
  if (!parsed || !parsed->is_number()) return std::nullopt;
  return *std::move(parsed);
}

/// One number that is not complex, or a time.
ZARRPOINT_INLINE result<std::uint64_t> parse_scalar_fill(const node& value, const dtype& type,
                                                         int zarr_format) {
  if (const auto number = wrapped_number(value, zarr_format))
    return parse_scalar_fill(*number, type, zarr_format);
  if (type.kind() == dtype_kind::bool_) return parse_bool_fill(value);
  if (type.is_integer()) return parse_integer_fill(value, type);
  if (type.is_time()) return parse_time_fill(value);
  return parse_float_fill(value, type, zarr_format);
}

ZARRPOINT_INLINE result<node> scalar_fill_to_node(std::uint64_t bits, const dtype& type,
                                                  int zarr_format) {
  if (type.is_floating()) return float_fill_to_node(bits, type, zarr_format);
  if (type.kind() == dtype_kind::bool_) return node(bits != 0);
  if (type.is_unsigned_integer()) return node(bits);
  const auto unused = static_cast<unsigned>(64 - type.bits());
  return node(static_cast<std::int64_t>(bits << unused) >> unused);
}

ZARRPOINT_INLINE result<void> parse_number_fill(const node& value, const dtype& type,
                                                int zarr_format, std::byte* to) {
  if (!type.is_complex()) {
    ZARRPOINT_TRY(bits, parse_scalar_fill(value, type, zarr_format));
    store_native(to, bits, type.size());
    return {};
  }
  const node::array* parts = value.if_array();
  if (parts == nullptr || parts->size() != 2)
    return corrupt("must be a list of the real and the imaginary part");
  const dtype part = type.component();
  for (std::size_t i = 0; i < 2; ++i) {
    ZARRPOINT_TRY(bits, parse_float_fill((*parts)[i], part, zarr_format));
    store_native(to + i * part.size(), bits, part.size());
  }
  return {};
}

ZARRPOINT_INLINE result<node> number_fill_to_node(const std::byte* from, const dtype& type,
                                                  int zarr_format) {
  if (!type.is_complex())
    return scalar_fill_to_node(load_native(from, type.size()), type, zarr_format);
  const dtype part = type.component();
  ZARRPOINT_TRY(real, float_fill_to_node(load_native(from, part.size()), part, zarr_format));
  const std::uint64_t bits = load_native(from + part.size(), part.size());
  ZARRPOINT_TRY(imaginary, float_fill_to_node(bits, part, zarr_format));
  return node(node::array{std::move(real), std::move(imaginary)});
}

}}}  // namespace zarrpoint::v0::detail
