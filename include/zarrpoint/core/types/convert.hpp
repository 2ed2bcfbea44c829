// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/types/float_types.hpp>
#include <zarrpoint/core/types/small_int.hpp>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Truncates towards zero; what does not fit becomes the nearest that does, and NaN becomes 0.
template <class To, std::floating_point From>
constexpr To truncate(From value) noexcept {
  using limits = std::numeric_limits<To>;
  if constexpr (is_small_int<To>) {
    const int whole = truncate<int>(value);
    return To(whole < limits::min()   ? +limits::min()
              : whole > limits::max() ? +limits::max()
                                      : whole);
  } else {
    // Both bounds are powers of two, or 0, and so exact.
    constexpr From lowest = static_cast<From>(limits::min());
    constexpr To half = limits::max() / 2 + 1;
    constexpr From above = static_cast<From>(half) * 2;
    if (value >= above) return limits::max();
    if (value <= lowest) return limits::min();
    return value == value ? static_cast<To>(value) : To{};
  }
}

/// As it is stored: a byte from a file that should be a bool may be neither 0 nor 1.
template <class T>
using stored_type = std::conditional_t<std::same_as<T, bool>, std::uint8_t, T>;

template <class T>
constexpr T from_stored(stored_type<T> value) noexcept {
  if constexpr (std::same_as<T, bool>) {
    return value != 0;
  } else {
    return value;
  }
}

}  // namespace detail

/// What a cast between two dtypes means; the same for one number and for a whole tensor:
///
/// - to bool: whether the value is not zero (a NaN is not; a complex number if either part is not);
/// - from bool: 0 or 1;
/// - integer to integer: modulo 2^n, as C++ says;
/// - floating point to integer: truncated towards zero; what is out of range becomes the nearest
///   value that is in range, and NaN becomes 0;
/// - anything to floating point: rounded once, to nearest even, from the exact value. What
///   overflows becomes an infinity, or NaN where there is none, or the largest number where there
///   is neither. A NaN stays one, and becomes a zero where there is none (see `float_specials`);
/// - complex to real: the real part; real to complex: with an imaginary part of 0.
template <element To, element From>
constexpr To convert(From value) noexcept {
  constexpr bool to_bool = dtype_of<To>.kind() == dtype_kind::bool_;
  if constexpr (std::same_as<To, From>) {
    return value;
  } else if constexpr (std::same_as<From, std::byte>) {
    return convert<To>(static_cast<unsigned char>(value));
  } else if constexpr (std::same_as<To, std::byte>) {
    return static_cast<std::byte>(convert<unsigned char>(value));
  } else if constexpr (dtype_of<From>.is_complex()) {
    if constexpr (dtype_of<To>.is_complex()) {
      using part = typename To::value_type;
      return To(convert<part>(value.real()), convert<part>(value.imag()));
    } else if constexpr (to_bool) {
      return value.real() != 0 || value.imag() != 0;
    } else {
      return convert<To>(value.real());
    }
  } else if constexpr (dtype_of<To>.is_complex()) {
    using part = typename To::value_type;
    return To(convert<part>(value), part(0));
  } else if constexpr (detail::is_small_float<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (detail::is_small_int<From>) {
    return convert<To>(static_cast<int>(value));
  } else if constexpr (to_bool) {
    return value != From{};
  } else if constexpr (dtype_of<From>.is_floating() && dtype_of<To>.is_integer()) {
    return detail::truncate<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}}  // namespace zarrpoint::v0
