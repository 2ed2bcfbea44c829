// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/types/dtype.hpp>

#include <limits>
#include <string>

namespace zarrpoint { inline namespace v0 {

/// An integer of 2 or 4 bits that takes a byte. The upper bits are 0 when written, as those of
/// ml_dtypes and TensorStore are, and are not looked at when read. It converts to `int` implicitly,
/// so that arithmetic and comparison are those of `int`; conversion to it is explicit and keeps the
/// lowest bits, as between the integers of C++. Like `int`, it is not initialised by default.
template <int Bits, bool Signed>
class small_int {
  static_assert(Bits == 2 || Bits == 4);

 public:
  using bits_type = std::uint8_t;

  small_int() = default;
  template <std::integral T>
  constexpr explicit small_int(T value) noexcept
      : bits_(static_cast<bits_type>(static_cast<unsigned>(value) & mask)) {}

  static constexpr small_int from_bits(bits_type bits) noexcept { return small_int(bits); }
  constexpr bits_type to_bits() const noexcept { return static_cast<bits_type>(bits_ & mask); }

  constexpr operator int() const noexcept {  // NOLINT(google-explicit-constructor): exact
    return extend(bits_);
  }

 private:
  static constexpr unsigned mask = (1U << Bits) - 1;

  static constexpr int extend(unsigned bits) noexcept {
    constexpr unsigned sign = Signed ? 1U << (Bits - 1) : 0;
    const unsigned kept = bits & mask;
    return static_cast<int>(kept ^ sign) - static_cast<int>(sign);
  }

  bits_type bits_;
};

/// -2 to 1.
using int2 = small_int<2, true>;
/// -8 to 7.
using int4 = small_int<4, true>;
/// 0 to 3.
using uint2 = small_int<2, false>;
/// 0 to 15.
using uint4 = small_int<4, false>;

template <>
inline constexpr dtype dtype_of<int2> = dtype_kind::int2;
template <>
inline constexpr dtype dtype_of<int4> = dtype_kind::int4;
template <>
inline constexpr dtype dtype_of<uint2> = dtype_kind::uint2;
template <>
inline constexpr dtype dtype_of<uint4> = dtype_kind::uint4;

namespace detail {
template <class T>
inline constexpr bool is_small_int = false;
template <int B, bool S>
inline constexpr bool is_small_int<small_int<B, S>> = true;
}  // namespace detail

/// As a decimal number.
template <int B, bool S>
std::string to_string(small_int<B, S> value) {
  return std::to_string(static_cast<int>(value));
}

}}  // namespace zarrpoint::v0

template <int B, bool S>
class std::numeric_limits<zarrpoint::small_int<B, S>> {
  using type = zarrpoint::small_int<B, S>;

 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = S;
  static constexpr bool is_integer = true;
  static constexpr bool is_exact = true;
  static constexpr bool has_infinity = false;
  static constexpr bool has_quiet_NaN = false;
  static constexpr bool has_signaling_NaN = false;
  static constexpr std::float_denorm_style has_denorm = std::denorm_absent;
  static constexpr bool has_denorm_loss = false;
  static constexpr std::float_round_style round_style = std::round_toward_zero;
  static constexpr bool is_iec559 = false;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = true;
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = false;
  static constexpr int radix = 2;
  static constexpr int digits = S ? B - 1 : B;
  static constexpr int digits10 = digits * 3 / 10;
  static constexpr int max_digits10 = 0;
  static constexpr int min_exponent = 0;
  static constexpr int min_exponent10 = 0;
  static constexpr int max_exponent = 0;
  static constexpr int max_exponent10 = 0;

  static constexpr type min() noexcept { return type(S ? -(1 << (B - 1)) : 0); }
  static constexpr type max() noexcept { return type((1 << digits) - 1); }
  static constexpr type lowest() noexcept { return min(); }
  static constexpr type epsilon() noexcept { return type(0); }
  static constexpr type round_error() noexcept { return type(0); }
  static constexpr type infinity() noexcept { return type(0); }
  static constexpr type quiet_NaN() noexcept { return type(0); }
  static constexpr type signaling_NaN() noexcept { return type(0); }
  static constexpr type denorm_min() noexcept { return type(0); }
};

template <int B, bool S>
struct std::hash<zarrpoint::small_int<B, S>> {
  std::size_t operator()(zarrpoint::small_int<B, S> value) const noexcept {
    return value.to_bits();
  }
};
