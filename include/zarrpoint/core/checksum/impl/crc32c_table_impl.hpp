// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32c_table.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace zarrpoint { inline namespace v0 { namespace detail {

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

ZARRPOINT_INLINE std::uint32_t crc32c_table(std::uint32_t state, const std::byte* data,
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

}}}  // namespace zarrpoint::v0::detail
