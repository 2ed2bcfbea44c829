// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>

#include <concepts>
#include <limits>
#include <string>

namespace zarrpoint { inline namespace v0 {

namespace detail {

inline error too_large(const char* of) {
  return {errc::out_of_range, std::string(of) + " of sizes is too large"};
}

}  // namespace detail

/// `a + b`, or `out_of_range`. Every size that comes from a file goes through these.
template <std::integral T>
result<T> checked_add(T a, std::type_identity_t<T> b) {
  T sum{};
  if (__builtin_add_overflow(a, b, &sum)) return detail::too_large("a sum");
  return sum;
}

/// `a * b`, or `out_of_range`.
template <std::integral T>
result<T> checked_mul(T a, std::type_identity_t<T> b) {
  T product{};
  if (__builtin_mul_overflow(a, b, &product)) return detail::too_large("a product");
  return product;
}

/// `ceil(a / b)` for `a >= 0`, `b > 0`, without overflow.
template <std::integral T>
constexpr T ceil_div(T a, std::type_identity_t<T> b) noexcept {
  return static_cast<T>(a / b + (a % b != 0 ? 1 : 0));
}

namespace detail {

/// `value` rounded up to a multiple of `step > 0`, or `out_of_range`.
template <std::unsigned_integral T>
result<T> checked_round_up(T value, std::type_identity_t<T> step) {
  return checked_mul(ceil_div(value, step), step);
}

/// The largest document that a reader takes within a budget such as `limits::memory`, of which what
/// is made of it has the rest: an eighth. Small ones are within the constant beyond the budget.
constexpr std::uint64_t document_bytes_within(std::uint64_t memory) noexcept {
  return memory / 8 + (std::uint64_t{16} << 10);
}

}  // namespace detail

}}  // namespace zarrpoint::v0
