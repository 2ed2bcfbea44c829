// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace zarrpoint { inline namespace v0 { namespace detail {

// CRC-32C (Castagnoli; RFC 3720, appendix B.4): polynomials over GF(2) modulo P of degree 32, bits
// reflected, so that bit 31 of a word is the coefficient of x^0. The kernels work on the register
// as it is; `crc32c` inverts it before and after.

/// P without x^32.
inline constexpr std::uint32_t crc32c_polynomial = 0x82f63b78;

/// `value * x` modulo P.
constexpr std::uint32_t crc32c_times_x(std::uint32_t value) noexcept {
  return value >> 1 ^ (value & 1 ? crc32c_polynomial : 0);
}

/// `a * b` modulo P.
constexpr std::uint32_t crc32c_multiply(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 0x80000000; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = crc32c_times_x(b);
  }
  return product;
}

/// `x^n` modulo P.
constexpr std::uint32_t crc32c_power(std::uint64_t n) noexcept {
  std::uint32_t result = 0x80000000;  // x^0
  std::uint32_t square = 0x40000000;  // x^1
  for (; n != 0; n >>= 1) {
    if ((n & 1) != 0) result = crc32c_multiply(result, square);
    square = crc32c_multiply(square, square);
  }
  return result;
}

/// Eight bytes a step by table; runs everywhere.
std::uint32_t crc32c_table(std::uint32_t state, const std::byte* data, std::size_t size) noexcept;

}}}  // namespace zarrpoint::v0::detail
