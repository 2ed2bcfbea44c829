// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>

#include "support/random_layout.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace zarrpoint_test {

/// The definition, bit by bit: what every kernel is checked against. Works on the register, as the
/// kernels do.
inline std::uint32_t reference_crc32c(std::uint32_t state, const std::byte* data,
                                      std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    state ^= static_cast<std::uint32_t>(data[i]);
    for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ (state & 1 ? 0x82f63b78u : 0);
  }
  return state;
}

/// Compares a kernel with the definition: every size to 1100 at every alignment to 8, sizes around
/// the blocks that kernels work in, and starting states of all kinds.
template <class Kernel>
void check_crc32c_kernel(Kernel kernel) {
  random_source random(42);
  for (std::size_t size = 0; size <= 1100; ++size) {
    const std::size_t shift = size % 8;
    const auto data = random_bytes(random, size + shift);  // its end is the end of the block
    const auto state = static_cast<std::uint32_t>(random());
    CAPTURE(size);
    REQUIRE(kernel(state, data.data() + shift, size) ==
            reference_crc32c(state, data.data() + shift, size));
  }
  for (const std::size_t block : {1536u, 2048u, 4096u, 12288u, 65536u}) {
    for (std::size_t size = block - 9; size <= block + 9; ++size) {
      const auto data = random_bytes(random, size);
      CAPTURE(size);
      REQUIRE(kernel(~0u, data.data(), size) == reference_crc32c(~0u, data.data(), size));
    }
  }
  // One bit at a time: a factor that is wrong anywhere shows.
  std::vector<std::byte> data(1024);
  for (std::size_t bit = 0; bit < 8 * data.size(); bit += 7) {
    data[bit / 8] = static_cast<std::byte>(1u << bit % 8);
    CAPTURE(bit);
    REQUIRE(kernel(0, data.data(), data.size()) == reference_crc32c(0, data.data(), data.size()));
    data[bit / 8] = std::byte{0};
  }
}

/// The examples of RFC 3720, appendix B.4, and the check value of the catalogue; `crc` takes bytes.
template <class Crc>
void check_crc32c_vectors(Crc crc) {
  std::vector<std::byte> block(32);
  CHECK(crc(zp::bytes_view(block)) == 0x8a9136aa);
  std::fill(block.begin(), block.end(), std::byte{0xff});
  CHECK(crc(zp::bytes_view(block)) == 0x62a8ab43);
  for (std::size_t i = 0; i < 32; ++i) block[i] = static_cast<std::byte>(i);
  CHECK(crc(zp::bytes_view(block)) == 0x46dd794e);
  std::reverse(block.begin(), block.end());
  CHECK(crc(zp::bytes_view(block)) == 0x113fdb5c);
  // An iSCSI SCSI Read (10) command.
  std::vector<std::byte> command(48);
  const unsigned char used[][2] = {{0, 0x01},  {1, 0xc0},  {16, 0x14}, {22, 0x04},
                                   {27, 0x14}, {31, 0x18}, {32, 0x28}, {40, 0x02}};
  for (const auto& [at, value] : used) command[at] = static_cast<std::byte>(value);
  CHECK(crc(zp::bytes_view(command)) == 0xd9963a56);
  CHECK(crc(zp::as_bytes("123456789")) == 0xe3069283);
  CHECK(crc(zp::bytes_view()) == 0);
}

}  // namespace zarrpoint_test
