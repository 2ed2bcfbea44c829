// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// clang-format off: before the kernels
#include "cuda/simulated_kernels.hpp"
// clang-format on

#include <zarrpoint/cuda/kernels.cuh>

#include <doctest/doctest.h>

namespace kernels_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("kernels: each member of the table is what its name says") {
  simulated = {};
  const zp::cuda::kernel_table& table = zp::cuda::kernels();
  CHECK(&table == &zp::cuda::kernels());
  alignas(16) std::byte at[32];
  alignas(16) std::byte to[32]{};
  for (std::size_t i = 0; i < sizeof at; ++i) at[i] = static_cast<std::byte>(i + 1);
  // The second of two bytes, backwards.
  CHECK(table.move(nullptr, {to, at + 5, 1, {3}, {1}, {-2}}) == cudaSuccess);
  CHECK(to[0] == at[5]);
  CHECK(to[2] == at[1]);
  const zp::device_segment run{reinterpret_cast<std::uintptr_t>(to + 4),
                               reinterpret_cast<std::uintptr_t>(at), 3};
  CHECK(table.scatter(nullptr, &run, 1) == cudaSuccess);
  CHECK(to[3] == std::byte{});
  CHECK(to[6] == at[2]);
  CHECK(table.cast(nullptr, {to, zp::dtype_kind::int16, at, zp::dtype_kind::int8, 2}) ==
        cudaSuccess);
  CHECK(to[1] == std::byte{});
  CHECK(to[2] == at[1]);
  CHECK(table.unshuffle(nullptr, to, at, 2, 4) == cudaSuccess);
  CHECK(to[1] == at[4]);
  CHECK(table.swap_bytes(nullptr, to, 2, 4) == cudaSuccess);
  CHECK(to[0] == at[4]);
  simulated.has_barriers = true;
  std::memcpy(at, "123456789", 9);
  CHECK(table.crc32c(nullptr, to, at, 9) == cudaSuccess);
  CHECK(zp::load_le<std::uint32_t>(to) == 0xe3069283);
  const zp::device_checksum digits{reinterpret_cast<std::uintptr_t>(at), 17, 9, 0xe3069283};
  std::memset(to, 0, 8);
  CHECK(table.compare_crc32c(nullptr, &digits, 1, to) == cudaSuccess);
  CHECK(zp::load_le<std::uint64_t>(to) == 17);
}

}  // namespace kernels_test
