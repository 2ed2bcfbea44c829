// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dtype.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/float_bits.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace zarrpoint::inline v0 {

/// What an array holds where nothing was written: one element, bit for bit.
class fill_value {
 public:
  /// Zero, `false` or the empty string.
  static fill_value zero(dtype type) {
    fill_value out;
    out.size_ = type.size();
    out.null_ = false;
    return out;
  }
  /// The `null` of Zarr v2: not defined. It reads as zero.
  static fill_value undefined(dtype type) {
    fill_value out = zero(type);
    out.null_ = true;
    return out;
  }
  /// From one element of a fixed size, at most 16 bytes, in native byte order.
  static fill_value of_bytes(bytes_view element) {
    ZARRPOINT_ASSERT(element.size() <= max_size);
    fill_value out;
    out.size_ = element.size();
    if (!element.empty()) std::memcpy(out.bytes_.data(), element.data(), element.size());
    out.null_ = false;
    return out;
  }
  template <element T>
  static fill_value of(const T& value) {
    return of_bytes(std::as_bytes(std::span<const T, 1>(&value, 1)));
  }
  static fill_value of_text(std::string text) {
    fill_value out;
    out.text_ = std::move(text);
    out.null_ = false;
    return out;
  }

  bool is_null() const noexcept { return null_; }
  /// The element in native byte order; empty for strings.
  bytes_view bytes() const noexcept { return {bytes_.data(), size_}; }
  /// The element of an array of strings.
  const std::string& text() const noexcept { return text_; }

  friend bool operator==(const fill_value&, const fill_value&) = default;

 private:
  static constexpr std::size_t max_size = 16;

  std::array<std::byte, max_size> bytes_{};
  std::size_t size_ = 0;
  std::string text_;
  bool null_ = true;
};

namespace detail {

/// The bits of a float given as a number, a name or, in v3, the hex digits of its bits.
inline result<std::uint64_t> parse_float_fill(const node& value, dtype type, int zarr_format) {
  if (value.is_number()) {
    const double number = *value.to_double();
    // A bare NaN token is no JSON; where it is tolerated, in attributes, it means less.
    if (!std::isfinite(number)) return corrupt("NaN and Infinity must be strings");
    return float_bits(type, number);
  }
  const std::string* text = value.if_string();
  if (text == nullptr) return corrupt("must be a number or a string");
  if (*text == "NaN") return nan_bits(type);
  if (*text == "Infinity" || *text == "-Infinity") {
    const double infinity = std::numeric_limits<double>::infinity();
    return float_bits(type, *text == "Infinity" ? infinity : -infinity);
  }
  if (zarr_format == 3 && text->starts_with("0x")) {
    const std::string_view digits = std::string_view(*text).substr(2);
    std::uint64_t bits = 0;
    const auto [end, status] =
        std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
    if (digits.size() != 2 * type.size() || status != std::errc() ||
        end != digits.data() + digits.size())
      return corrupt(in_quotes(*text) + " must have " + std::to_string(2 * type.size()) +
                     " hex digits");
    return bits;
  }
  return corrupt(in_quotes(*text) + " is not a number");
}

inline result<node> float_fill_to_node(std::uint64_t bits, dtype type, int zarr_format) {
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

inline std::uint64_t load_native(const std::byte* from, std::size_t size) {
  std::uint64_t bits = 0;
  const std::size_t skip = native_endian == endian::little ? 0 : sizeof bits - size;
  std::memcpy(reinterpret_cast<std::byte*>(&bits) + skip, from, size);
  return bits;
}
inline void store_native(std::byte* to, std::uint64_t bits, std::size_t size) {
  const std::size_t skip = native_endian == endian::little ? 0 : sizeof bits - size;
  std::memcpy(to, reinterpret_cast<const std::byte*>(&bits) + skip, size);
}

inline result<std::uint64_t> parse_integer_fill(const node& value, dtype type) {
  const unsigned width = static_cast<unsigned>(8 * type.size());
  if (type.is_signed_integer()) {
    const auto number = integral_int64(value);
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() >> (64 - width);
    if (number && *number >= -most - 1 && *number <= most)
      return static_cast<std::uint64_t>(*number);
  } else {
    const auto number = integral_uint64(value);
    if (number && *number <= std::numeric_limits<std::uint64_t>::max() >> (64 - width))
      return *number;
  }
  return corrupt("must be an integer that fits " + std::string(to_string(type)));
}

inline result<std::uint64_t> parse_bool_fill(const node& value) {
  if (const bool* truth = value.if_bool()) return std::uint64_t{*truth ? 1U : 0U};
  // zarr-python has written 0 for false.
  if (const auto number = value.to_int64(); number && (*number == 0 || *number == 1))
    return static_cast<std::uint64_t>(*number);
  return corrupt("must be a boolean");
}

}  // namespace detail

/// The `fill_value` member of an array of `type` (Zarr v3 data types, "Fill value"; v2.0 "Fill
/// value encoding"): exact integers, floats as a number, "NaN", "Infinity", "-Infinity" or, in
/// v3, the hex digits of the bits ("0x7fc00001"), complex numbers as two of those, strings as
/// they are. Null is refused in v3 and undefined in v2. Errors: `corrupt`.
inline result<fill_value> parse_fill_value(const node& value, dtype type, int zarr_format) {
  ZARRPOINT_ASSERT(type.valid());
  if (value.is_null() && zarr_format == 2) return fill_value::undefined(type);
  if (type.kind() == dtype_kind::string) {
    if (const std::string* text = value.if_string()) return fill_value::of_text(*text);
    // numpy's zero of an object array, written by zarr-python 2.
    if (zarr_format == 2 && value.to_int64() == 0) return fill_value::zero(type);
    return detail::corrupt("must be a string");
  }
  const std::size_t size = type.scalar_size();
  std::array<std::byte, 16> bytes{};
  const auto parse_scalar = [&](const node& scalar, dtype part, std::size_t at) -> result<void> {
    result<std::uint64_t> bits = part.kind() == dtype_kind::bool_ ? detail::parse_bool_fill(scalar)
                                 : part.is_integer()
                                     ? detail::parse_integer_fill(scalar, part)
                                     : detail::parse_float_fill(scalar, part, zarr_format);
    if (!bits) return std::move(bits).failure();
    detail::store_native(bytes.data() + at, *bits, size);
    return {};
  };
  if (type.is_complex()) {
    const dtype part = size == 4 ? dtype_kind::float32 : dtype_kind::float64;
    const node::array* parts = value.if_array();
    if (parts == nullptr || parts->size() != 2)
      return detail::corrupt("must be a list of the real and the imaginary part");
    ZARRPOINT_CHECK(parse_scalar((*parts)[0], part, 0));
    ZARRPOINT_CHECK(parse_scalar((*parts)[1], part, size));
  } else {
    ZARRPOINT_CHECK(parse_scalar(value, type, 0));
  }
  return fill_value::of_bytes(bytes_view(bytes).first(type.size()));
}

/// The `fill_value` member for `fill`: what `parse_fill_value` reads back bit for bit. An
/// undefined one is null in v2 and zero in v3, which has no null. Errors: `invalid_argument` when
/// it is not of `type`, `unsupported` for what Zarr v2 cannot say (a NaN with a payload).
inline result<node> fill_value_to_node(const fill_value& fill, dtype type, int zarr_format) {
  if (fill.is_null() && zarr_format == 2) return node();
  if (fill.bytes().size() != type.size() && !(fill.is_null() && fill.bytes().empty()))
    return error{errc::invalid_argument,
                 "fill value is not of type " + std::string(to_string(type))};
  if (type.kind() == dtype_kind::string) return node(fill.text());
  const fill_value zero = fill_value::zero(type);
  const std::byte* from = (fill.bytes().empty() ? zero : fill).bytes().data();
  const std::size_t size = type.scalar_size();
  const std::uint64_t bits = detail::load_native(from, size);
  if (type.is_complex()) {
    const dtype part = size == 4 ? dtype_kind::float32 : dtype_kind::float64;
    ZARRPOINT_TRY(real, detail::float_fill_to_node(bits, part, zarr_format));
    const std::uint64_t imaginary_bits = detail::load_native(from + size, size);
    ZARRPOINT_TRY(imaginary, detail::float_fill_to_node(imaginary_bits, part, zarr_format));
    return node(node::array{std::move(real), std::move(imaginary)});
  }
  if (type.is_floating()) return detail::float_fill_to_node(bits, type, zarr_format);
  if (type.kind() == dtype_kind::bool_) return node(bits != 0);
  if (type.is_unsigned_integer()) return node(bits);
  const unsigned unused = static_cast<unsigned>(64 - 8 * size);
  return node(static_cast<std::int64_t>(bits << unused) >> unused);
}

}  // namespace zarrpoint::inline v0
