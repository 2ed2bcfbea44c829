// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/types/bit_width.hpp>
#include <zarrpoint/core/types/dtype.hpp>

#include <charconv>
#include <compare>
#include <cstdlib>
#include <limits>
#include <string>

namespace zarrpoint { inline namespace v0 {

/// What a small format has beside numbers, and what becomes of a number that is too large for it.
enum class float_specials : std::uint8_t {
  ieee,  ///< infinities and NaNs as IEEE 754 lays them out; overflow gives an infinity
  fn,    ///< one NaN, the all-ones pattern, of each sign; overflow gives it
  fnuz,  ///< one NaN in the place of -0, which becomes 0; overflow gives the NaN
  none,  ///< neither; overflow gives the largest number, a NaN the zero of the other sign
};

/// A floating-point number that C++20 has no type for, stored as its bits: a sign, `ExponentBits`
/// and `MantissaBits`. It converts to `float` exactly and implicitly, so that arithmetic and
/// comparison are those of `float`. Conversion to it is explicit and rounds once, to nearest even,
/// from the exact value. The results are those of the Python package ml_dtypes, but that rounds
/// twice from a `double`, by way of a `float`.
///
/// A format of fewer than 8 bits takes a byte: its upper bits are 0 when written and not looked at
/// when read. Like `float`, a small float is not initialised by default.
template <int ExponentBits, int MantissaBits, float_specials Specials,
          int Bias = (1 << (ExponentBits - 1)) - 1 + (Specials == float_specials::fnuz ? 1 : 0)>
class small_float {
 public:
  using bits_type =
      std::conditional_t<ExponentBits + MantissaBits <= 7, std::uint8_t, std::uint16_t>;

  small_float() = default;
  constexpr explicit small_float(float value) noexcept : bits_(round_binary(value)) {}
  constexpr explicit small_float(double value) noexcept : bits_(round_binary(value)) {}
  template <std::integral T>
  constexpr explicit small_float(T value) noexcept
      : bits_(round_integer(is_negative(value), magnitude(value))) {}

  static constexpr small_float from_bits(bits_type bits) noexcept {
    small_float out{};
    out.bits_ = static_cast<bits_type>(bits & all_bits);
    return out;
  }
  constexpr bits_type to_bits() const noexcept { return static_cast<bits_type>(bits_ & all_bits); }

  /// The same number; a NaN keeps its sign and payload.
  constexpr operator float() const noexcept {  // NOLINT(google-explicit-constructor): exact
    const std::uint32_t sign = std::uint32_t{bits_ & sign_bit} << (31 - sign_shift);
    const std::uint32_t rest = bits_ & (sign_bit - 1);
    const std::uint32_t shifted = rest << float_shift;
    if constexpr (ExponentBits == 8) return std::bit_cast<float>(sign | shifted);
    // All three cases, then a choice: loops over it become vector code. Below the normal numbers
    // the bits count the smallest number there is.
    const float subnormal = static_cast<float>(static_cast<int>(rest)) * smallest;
    const std::uint32_t normal = shifted + rebias;
    const std::uint32_t finite =
        rest < first_normal_bits ? std::bit_cast<std::uint32_t>(subnormal) : normal;
    const bool is_special =
        Specials == float_specials::fnuz ? (bits_ & all_bits) == sign_bit : rest > max_bits;
    constexpr std::uint32_t quiet = Specials == float_specials::fnuz ? 0x7fc00000 : 0x7f800000;
    return std::bit_cast<float>(sign | (is_special ? shifted | quiet : finite));
  }

  friend constexpr bool operator==(small_float a, small_float b) noexcept {
    return static_cast<float>(a) == static_cast<float>(b);
  }
  friend constexpr std::partial_ordering operator<=>(small_float a, small_float b) noexcept {
    return static_cast<float>(a) <=> static_cast<float>(b);
  }

 private:
  friend std::numeric_limits<small_float>;

  static constexpr bool is_ieee = Specials == float_specials::ieee;
  static constexpr int min_exponent = 1 - Bias;  ///< of the smallest normal number
  static constexpr int max_exponent = (1 << ExponentBits) - (is_ieee ? 2 : 1) - Bias;
  static constexpr int sign_shift = ExponentBits + MantissaBits;
  static constexpr std::uint32_t sign_bit = 1U << sign_shift;
  static constexpr std::uint32_t first_normal_bits = 1U << MantissaBits;
  static constexpr std::uint32_t infinity_bits = ((1U << ExponentBits) - 1) << MantissaBits;
  static constexpr std::uint32_t all_bits = 2 * sign_bit - 1;
  /// 0 where there is none.
  static constexpr std::uint32_t nan_bits = is_ieee ? infinity_bits | 1U << (MantissaBits - 1)
                                            : Specials == float_specials::fn   ? sign_bit - 1
                                            : Specials == float_specials::fnuz ? sign_bit
                                                                               : 0;
  static constexpr std::uint32_t max_bits = is_ieee                          ? infinity_bits - 1
                                            : Specials == float_specials::fn ? sign_bit - 2
                                                                             : sign_bit - 1;
  static constexpr std::uint32_t overflow_bits = is_ieee                            ? infinity_bits
                                                 : Specials == float_specials::none ? max_bits
                                                                                    : nan_bits;
  /// Bits of the mantissa of a `float` that have no place here.
  static constexpr int float_shift = 23 - MantissaBits;
  /// What is between the exponents of a `float` and ours, in place.
  static constexpr std::uint32_t rebias = std::uint32_t{127 - Bias} << 23;
  /// The smallest number above zero, where it is a normal `float`; else not used.
  static constexpr float smallest = std::bit_cast<float>(
      static_cast<std::uint32_t>(ExponentBits == 8 ? 127 : 127 + min_exponent - MantissaBits)
      << 23);

  static constexpr bits_type join(bool negative, std::uint32_t rest) noexcept {
    if (Specials == float_specials::fnuz && rest == 0) return 0;
    return static_cast<bits_type>((negative ? sign_bit : 0) | rest);
  }

  template <class T>
  static constexpr bool is_negative(T value) noexcept {
    if constexpr (std::is_signed_v<T>) return value < T{};
    return false;
  }
  template <class T>
  static constexpr std::uint64_t magnitude(T value) noexcept {
    const auto bits = static_cast<std::uint64_t>(value);
    return is_negative(value) ? 0 - bits : bits;
  }

  /// From an integer, to the nearest number, ties to the even one.
  static constexpr bits_type round_integer(bool negative, std::uint64_t integer) noexcept {
    if (integer == 0) return join(negative, 0);
    const int leading = detail::bit_width(integer) - 1;
    if (leading > max_exponent) return join(negative, overflow_bits);
    const int drop = leading - MantissaBits;  // the distance of neighbouring numbers here is 2^drop
    std::uint64_t kept = drop <= 0 ? integer << -drop : integer >> drop;
    if (drop > 0) {
      const std::uint64_t half = std::uint64_t{1} << (drop - 1);
      const std::uint64_t dropped = integer & (half | (half - 1));
      if (dropped > half || (dropped == half && (kept & 1) != 0)) ++kept;
    }
    // A carry out of the mantissa raises the exponent, as it should.
    const auto rest = static_cast<std::uint32_t>(
        (static_cast<std::uint64_t>(leading - min_exponent) << MantissaBits) + kept);
    return join(negative, rest > max_bits ? overflow_bits : rest);
  }

  /// From a `float` or a `double`. All cases are computed and one is chosen, so that loops over it
  /// become vector code.
  template <class Float>
  static constexpr bits_type round_binary(Float value) noexcept {
    using uint = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
    constexpr int width = sizeof(Float) * 8;
    constexpr int mantissa = std::numeric_limits<Float>::digits - 1;
    constexpr int wide_bias = std::numeric_limits<Float>::max_exponent - 1;
    constexpr int shift = mantissa - MantissaBits;
    constexpr uint infinity = uint{2 * wide_bias + 1} << mantissa;
    constexpr uint rebias_wide = uint{wide_bias - Bias} << mantissa;
    const auto bits = std::bit_cast<uint>(value);
    const uint rest = bits & (~uint{0} >> 1);
    const uint even = rest >> shift & 1;
    uint rounded = (rest - rebias_wide + ((uint{1} << (shift - 1)) - 1) + even) >> shift;
    if constexpr (wide_bias != Bias) {
      // Numbers as large as this are as far apart as ours below the normal ones, so that adding it
      // rounds to those.
      constexpr auto aligner = std::bit_cast<Float>(
          static_cast<uint>(min_exponent - MantissaBits + mantissa + wide_bias) << mantissa);
      const uint subnormal =
          std::bit_cast<uint>(std::bit_cast<Float>(rest) + aligner) - std::bit_cast<uint>(aligner);
      rounded = rest < rebias_wide + (uint{1} << mantissa) ? subnormal : rounded;
      rounded = rounded > max_bits ? overflow_bits : rounded;
    }
    // A NaN is made quiet; one of 16 bits keeps the upper bits of its payload.
    constexpr uint payload = sizeof(bits_type) == 2 ? (uint{1} << mantissa) - 1 : 0;
    const bool is_nan = rest > infinity;
    rounded = is_nan ? nan_bits | (rest & payload) >> shift : rounded;
    uint sign = bits >> (width - 1 - sign_shift) & sign_bit;
    if constexpr (Specials == float_specials::none) sign = is_nan ? sign ^ sign_bit : sign;
    if constexpr (Specials == float_specials::fnuz) sign = rounded == 0 ? 0 : sign;
    return static_cast<bits_type>(sign | rounded);
  }

  bits_type bits_;
};

/// IEEE 754 binary16.
using float16 = small_float<5, 10, float_specials::ieee>;
/// The upper half of a `float`.
using bfloat16 = small_float<8, 7, float_specials::ieee>;
/// 8 bits laid out as IEEE 754 says: up to 15.5.
using float8_e3m4 = small_float<3, 4, float_specials::ieee>;
/// 8 bits laid out as IEEE 754 says: up to 240.
using float8_e4m3 = small_float<4, 3, float_specials::ieee>;
/// 8 bits without infinities, for weights and activations: up to 448, NaN 0x7f and 0xff.
using float8_e4m3fn = small_float<4, 3, float_specials::fn>;
/// 8 bits without infinities and -0: up to 30, NaN 0x80.
using float8_e4m3b11fnuz = small_float<4, 3, float_specials::fnuz, 11>;
/// 8 bits without infinities and -0: up to 240, NaN 0x80.
using float8_e4m3fnuz = small_float<4, 3, float_specials::fnuz>;
/// 8 bits laid out as IEEE 754 says, for gradients: up to 57344.
using float8_e5m2 = small_float<5, 2, float_specials::ieee>;
/// 8 bits without infinities and -0: up to 57344, NaN 0x80.
using float8_e5m2fnuz = small_float<5, 2, float_specials::fnuz>;
/// 6 bits, numbers only: up to 7.5.
using float6_e2m3fn = small_float<2, 3, float_specials::none>;
/// 6 bits, numbers only: up to 28.
using float6_e3m2fn = small_float<3, 2, float_specials::none>;
/// 4 bits, numbers only: up to 6.
using float4_e2m1fn = small_float<2, 1, float_specials::none>;

template <>
inline constexpr dtype dtype_of<float16> = dtype_kind::float16;
template <>
inline constexpr dtype dtype_of<bfloat16> = dtype_kind::bfloat16;
template <>
inline constexpr dtype dtype_of<float8_e4m3fn> = dtype_kind::float8_e4m3fn;
template <>
inline constexpr dtype dtype_of<float8_e5m2> = dtype_kind::float8_e5m2;
template <>
inline constexpr dtype dtype_of<float8_e3m4> = dtype_kind::float8_e3m4;
template <>
inline constexpr dtype dtype_of<float8_e4m3> = dtype_kind::float8_e4m3;
template <>
inline constexpr dtype dtype_of<float8_e4m3b11fnuz> = dtype_kind::float8_e4m3b11fnuz;
template <>
inline constexpr dtype dtype_of<float8_e4m3fnuz> = dtype_kind::float8_e4m3fnuz;
template <>
inline constexpr dtype dtype_of<float8_e5m2fnuz> = dtype_kind::float8_e5m2fnuz;
template <>
inline constexpr dtype dtype_of<float6_e2m3fn> = dtype_kind::float6_e2m3fn;
template <>
inline constexpr dtype dtype_of<float6_e3m2fn> = dtype_kind::float6_e3m2fn;
template <>
inline constexpr dtype dtype_of<float4_e2m1fn> = dtype_kind::float4_e2m1fn;

namespace detail {
template <class T>
inline constexpr bool is_small_float = false;
template <int E, int M, float_specials S, int B>
inline constexpr bool is_small_float<small_float<E, M, S, B>> = true;

/// What the text, which ends with a null character, is read as. libc++ reads floats from its
/// version 20 on. Before, strtof does, which under a locale with another decimal point takes less
/// than the whole text.
template <class T>
T number_of(const char* text, [[maybe_unused]] const char* end) {
  T out = 0;
  if constexpr (requires { std::from_chars(text, end, out); }) {
    std::from_chars(text, end, out);
  } else {
    out = std::strtof(text, nullptr);
  }
  return out;
}

template <class Float>
std::string shortest_decimal(Float value) {
  const float number = value;
  if (number != number) return "nan";
  constexpr float many = 1 << 24;
  if (number != 0 && number > -many && number < many &&
      number == static_cast<float>(static_cast<int>(number)))
    return std::to_string(static_cast<int>(number));
  char text[32];
  int digits = 0;
  while (true) {
    const auto written =
        std::to_chars(text, text + sizeof text - 1, number, std::chars_format::general, ++digits);
    *written.ptr = '\0';
    if (Float(number_of<float>(text, written.ptr)) == value ||
        digits == std::numeric_limits<float>::max_digits10)
      return {text, written.ptr};
  }
}

}  // namespace detail

/// The shortest decimal that reads back as the same number, e.g. `"0.1"`, but whole numbers below
/// 2^24 in full, e.g. `"65504"`; `"nan"`, `"inf"`, `"-inf"`.
template <int E, int M, float_specials S, int B>
std::string to_string(small_float<E, M, S, B> value) {
  return detail::shortest_decimal(value);
}

}}  // namespace zarrpoint::v0

template <int E, int M, zarrpoint::float_specials S, int B>
class std::numeric_limits<zarrpoint::small_float<E, M, S, B>> {
  using type = zarrpoint::small_float<E, M, S, B>;
  static constexpr type of(std::uint32_t bits) noexcept {
    return type::from_bits(static_cast<typename type::bits_type>(bits));
  }
  static constexpr int count_tens(float up_to) noexcept {
    int tens = 0;
    for (double power = 10; power <= static_cast<double>(up_to); power *= 10) ++tens;
    return tens;
  }

 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr bool is_iec559 = type::is_ieee;
  static constexpr bool has_infinity = type::is_ieee;
  static constexpr bool has_quiet_NaN = S != zarrpoint::float_specials::none;
  static constexpr bool has_signaling_NaN = type::is_ieee;
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
  static constexpr bool has_denorm_loss = false;
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int radix = 2;
  static constexpr int digits = M + 1;
  static constexpr int digits10 = M * 30103 / 100000;
  static constexpr int max_digits10 = digits * 30103 / 100000 + 2;
  static constexpr int min_exponent = type::min_exponent + 1;
  static constexpr int max_exponent = type::max_exponent + 1;
  static constexpr int min_exponent10 = type::min_exponent * 30103 / 100000;
  static constexpr int max_exponent10 = count_tens(of(type::max_bits));

  static constexpr type min() noexcept { return of(type::first_normal_bits); }
  static constexpr type max() noexcept { return of(type::max_bits); }
  static constexpr type lowest() noexcept { return of(type::sign_bit | type::max_bits); }
  static constexpr type epsilon() noexcept {
    return type(1.0 / static_cast<double>(std::uint64_t{1} << M));
  }
  static constexpr type round_error() noexcept { return type(0.5F); }
  /// 0 where the format has none.
  static constexpr type infinity() noexcept { return of(type::is_ieee ? type::infinity_bits : 0); }
  /// 0 where the format has none.
  static constexpr type quiet_NaN() noexcept { return of(type::nan_bits); }
  static constexpr type signaling_NaN() noexcept {
    return of(type::is_ieee ? type::infinity_bits + 1 : type::nan_bits);
  }
  static constexpr type denorm_min() noexcept { return of(1); }
};

/// Equal numbers hash alike, so both zeros do.
template <int E, int M, zarrpoint::float_specials S, int B>
struct std::hash<zarrpoint::small_float<E, M, S, B>> {
  std::size_t operator()(zarrpoint::small_float<E, M, S, B> value) const noexcept {
    return value == zarrpoint::small_float<E, M, S, B>::from_bits(0) ? 0 : value.to_bits();
  }
};
