// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/types/float_types.hpp>

namespace zarrpoint { inline namespace v0 {

/// A power of two from 2^-127 to 2^127, as its biased exponent, and NaN, 0xff: the scale of a block
/// of small floats. There are no zero, no sign and no infinity: all of these become NaN. Conversion
/// to it goes to the nearest power, from the middle up; below 2^-126, everything above 2^-127 goes
/// up. The results are those of the Python package ml_dtypes, but that rounds twice from a
/// `double`, by way of a `float`. It is not initialised by default.
class float8_e8m0fnu {
 public:
  using bits_type = std::uint8_t;

  float8_e8m0fnu() = default;
  constexpr explicit float8_e8m0fnu(float value) noexcept
      : float8_e8m0fnu(static_cast<double>(value)) {}
  constexpr explicit float8_e8m0fnu(double value) noexcept : bits_(round_binary(value)) {}
  template <std::integral T>
  constexpr explicit float8_e8m0fnu(T value) noexcept
      : bits_(value <= T{} ? nan_bits : round_integer(static_cast<std::uint64_t>(value))) {}

  static constexpr float8_e8m0fnu from_bits(bits_type bits) noexcept {
    float8_e8m0fnu out{};
    out.bits_ = bits;
    return out;
  }
  constexpr bits_type to_bits() const noexcept { return bits_; }

  constexpr operator float() const noexcept {  // NOLINT(google-explicit-constructor): exact
    if (bits_ == nan_bits) return std::numeric_limits<float>::quiet_NaN();
    // 2^-127 is below the normal numbers of a float.
    return std::bit_cast<float>(bits_ == 0 ? 0x400000U : std::uint32_t{bits_} << 23);
  }

  friend constexpr bool operator==(float8_e8m0fnu a, float8_e8m0fnu b) noexcept {
    return static_cast<float>(a) == static_cast<float>(b);
  }
  friend constexpr std::partial_ordering operator<=>(float8_e8m0fnu a, float8_e8m0fnu b) noexcept {
    return static_cast<float>(a) <=> static_cast<float>(b);
  }

 private:
  static constexpr bits_type nan_bits = 0xff;

  static constexpr bits_type round_binary(double value) noexcept {
    if (!(value > 0)) return nan_bits;
    if (value <= 0x1p-127) return 0;
    if (value < 0x1p-126) return 1;
    if (value >= 0x1.8p127) return nan_bits;
    const auto bits = std::bit_cast<std::uint64_t>(value) + (std::uint64_t{1} << 51);
    return static_cast<bits_type>((bits >> 52) - 1023 + 127);
  }
  static constexpr bits_type round_integer(std::uint64_t integer) noexcept {
    const int leading = detail::bit_width(integer) - 1;
    const bool up = leading > 0 && (integer >> (leading - 1) & 1) != 0;
    return static_cast<bits_type>(127 + leading + (up ? 1 : 0));
  }

  bits_type bits_;
};

template <>
inline constexpr dtype dtype_of<float8_e8m0fnu> = dtype_kind::float8_e8m0fnu;

namespace detail {
template <>
inline constexpr bool is_small_float<float8_e8m0fnu> = true;
}  // namespace detail

/// As that of the other small floats, e.g. `"0.5"`; `"nan"`.
inline std::string to_string(float8_e8m0fnu value) { return detail::shortest_decimal(value); }

}}  // namespace zarrpoint::v0

template <>
class std::numeric_limits<zarrpoint::float8_e8m0fnu> {
  using type = zarrpoint::float8_e8m0fnu;

 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = false;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr bool is_iec559 = false;
  static constexpr bool has_infinity = false;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = false;
  static constexpr std::float_denorm_style has_denorm = std::denorm_absent;
  static constexpr bool has_denorm_loss = false;
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int radix = 2;
  static constexpr int digits = 1;
  static constexpr int digits10 = 0;
  static constexpr int max_digits10 = 2;
  static constexpr int min_exponent = -126;
  static constexpr int max_exponent = 128;
  static constexpr int min_exponent10 = -38;
  static constexpr int max_exponent10 = 38;

  static constexpr type min() noexcept { return type::from_bits(0); }
  static constexpr type max() noexcept { return type::from_bits(0xfe); }
  static constexpr type lowest() noexcept { return min(); }
  static constexpr type epsilon() noexcept { return type(1); }
  static constexpr type round_error() noexcept { return type(0.5F); }
  /// NaN: there is none.
  static constexpr type infinity() noexcept { return quiet_NaN(); }
  static constexpr type quiet_NaN() noexcept { return type::from_bits(0xff); }
  static constexpr type signaling_NaN() noexcept { return quiet_NaN(); }
  static constexpr type denorm_min() noexcept { return min(); }
};

template <>
struct std::hash<zarrpoint::float8_e8m0fnu> {
  std::size_t operator()(zarrpoint::float8_e8m0fnu value) const noexcept { return value.to_bits(); }
};
