// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace zarrpoint::inline v0::detail {

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

/// `tables[k][b]`: the register after byte `b` and `k` zero bytes.
using crc32c_tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr crc32c_tables make_crc32c_tables() noexcept {
  crc32c_tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = crc32c_times_x(value);
    tables[0][byte] = value;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = before >> 8 ^ tables[0][before & 255];
    }
  }
  return tables;
}

inline constexpr crc32c_tables crc32c_slices = make_crc32c_tables();

/// Eight bytes a step by table; runs everywhere.
inline std::uint32_t crc32c_table(std::uint32_t state, const std::byte* data,
                                  std::size_t size) noexcept {
  const auto step = [](std::uint32_t value, std::byte next) {
    return value >> 8 ^ crc32c_slices[0][(value ^ static_cast<std::uint32_t>(next)) & 255];
  };
  // Four bytes by the tables from `k` down. Written out: as a loop it takes twice as long.
  const auto slices = [](std::size_t k, std::uint32_t word) {
    return (crc32c_slices[k][word & 255] ^ crc32c_slices[k - 1][word >> 8 & 255]) ^
           (crc32c_slices[k - 2][word >> 16 & 255] ^ crc32c_slices[k - 3][word >> 24]);
  };
  for (; size >= 8; size -= 8, data += 8) {
    // The second half does not wait for the state.
    const std::uint32_t second = slices(3, load_le<std::uint32_t>(data + 4));
    state = slices(7, load_le<std::uint32_t>(data) ^ state) ^ second;
  }
  for (; size != 0; --size) state = step(state, *data++);
  return state;
}

}  // namespace zarrpoint::inline v0::detail
