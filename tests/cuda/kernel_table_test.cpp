// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/cuda/kernels/kernel_table.hpp>

#include <doctest/doctest.h>

#include <cstring>

namespace kernel_table_test {

namespace zp = zarrpoint;

TEST_CASE("kernel_table: a program may bring its own, and nothing is there before") {
  zp::cuda::kernel_table table;
  CHECK_FALSE(static_cast<bool>(table.move));
  CHECK_FALSE(static_cast<bool>(table.scatter));
  CHECK_FALSE(static_cast<bool>(table.cast));
  CHECK_FALSE(static_cast<bool>(table.swap_bytes));
  CHECK_FALSE(static_cast<bool>(table.unshuffle));
  CHECK_FALSE(static_cast<bool>(table.crc32c));
  table.unshuffle = [](cudaStream_t, std::byte* to, const std::byte* from, std::size_t size,
                       std::size_t count) {
    for (std::size_t i = 0; i < size * count; ++i) to[i] = from[i % size * count + i / size];
    return cudaSuccess;
  };
  char to[6];
  CHECK(table.unshuffle(nullptr, reinterpret_cast<std::byte*>(to),
                        reinterpret_cast<const std::byte*>("acebdf"), 2, 3) == cudaSuccess);
  CHECK(std::memcmp(to, "abcdef", 6) == 0);
}

TEST_CASE("device_segment: what kernels read from the device") {
  static_assert(sizeof(zp::device_segment) == 24 && alignof(zp::device_segment) == 8);
  const zp::device_segment one{1, 2, 3};
  std::uint64_t words[3];
  std::memcpy(words, &one, sizeof one);
  CHECK(words[0] == 1);
  CHECK(words[1] == 2);
  CHECK(words[2] == 3);
}

TEST_CASE("device_checksum: what kernels read from the device") {
  static_assert(sizeof(zp::device_checksum) == 24 && alignof(zp::device_checksum) == 8);
  const zp::device_checksum one{1, 2, 3, 4};
  std::uint64_t words[3];
  std::memcpy(words, &one, sizeof one);
  CHECK(words[0] == 1);
  CHECK(words[1] == 2);
  CHECK(words[2] == (std::uint64_t{4} << 32 | 3));
}

TEST_CASE("device_symbols: what kernels read from the device") {
  static_assert(sizeof(zp::device_symbols) == 176 && alignof(zp::device_symbols) == 8);
  const zp::device_symbols one{.to = 1, .from = 2, .bytes = 3, .step = 4, .kind = 5};
  std::uint32_t words[7];
  std::memcpy(words, &one, sizeof words);
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(words[4 + i] == i + 3);
}

}  // namespace kernel_table_test
