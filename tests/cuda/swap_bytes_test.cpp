// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// clang-format off: before the kernels
#include "cuda/simulated_kernels.hpp"
// clang-format on

#include <zarrpoint/cuda/kernels/swap_bytes.cuh>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

namespace swap_bytes_test {

namespace kernels = zarrpoint::cuda::detail;
using namespace zarrpoint_test;

namespace {

void naive_swap(std::vector<std::byte>& at, std::size_t size) {
  for (auto it = at.begin(); size > 0 && it != at.end(); it += static_cast<std::ptrdiff_t>(size))
    std::reverse(it, it + static_cast<std::ptrdiff_t>(size));
}

}  // namespace

TEST_CASE("swap_bytes kernel: random sizes, counts and addresses against one by one") {
  random_source random(41);
  simulated = {};
  constexpr std::size_t sizes[] = {2, 2, 2, 4, 4, 8, 8, 16, 1, 3, 5, 6, 12, 24, 32, 37};
  for (int n = 0; n < 1500; ++n) {
    CAPTURE(n);
    const std::size_t size = sizes[pick(random, std::size(sizes))];
    const std::size_t count = pick(random, n % 10 == 0 ? 5000 : 60);
    shifted_bytes at(random, size * count, pick(random, 17));
    std::vector<std::byte> expected = at.copy();
    naive_swap(expected, size);
    REQUIRE(kernels::swap_bytes(nullptr, at.data(), size, count) == cudaSuccess);
    REQUIRE(at.copy() == expected);
  }
}

TEST_CASE("swap_bytes kernel: nothing to do, and errors of launches") {
  simulated = {};
  std::byte at[8]{};
  CHECK(kernels::swap_bytes(nullptr, at, 1, 8) == cudaSuccess);
  CHECK(kernels::swap_bytes(nullptr, at, 0, 8) == cudaSuccess);
  CHECK(kernels::swap_bytes(nullptr, at, 4, 0) == cudaSuccess);
  CHECK(simulated.launches == 0);
  simulated.next_error = cudaErrorNoKernelImageForDevice;
  CHECK(kernels::swap_bytes(nullptr, at, 4, 2) == cudaErrorNoKernelImageForDevice);
  CHECK(kernels::swap_bytes(nullptr, at + 1, 4, 1) == cudaErrorNoKernelImageForDevice);
  CHECK(simulated.remembered == cudaSuccess);
}

TEST_CASE_TEMPLATE("swap_bytes kernel: beyond 4 GiB", Size, std::integral_constant<std::size_t, 2>,
                   std::integral_constant<std::size_t, 8>) {
  constexpr std::uint64_t bytes = std::uint64_t{6} << 30;
  constexpr std::uint64_t count = bytes / Size::value - 1;
  const sparse_memory memory(bytes);
  std::byte* const at = memory.data() + Size::value;  // elements before the first vector, too
  const kernels::thread_place place{kernels::max_blocks - 1, kernels::max_blocks, 200};
  const std::uint64_t vectors = (bytes - 16) / 16;
  for (std::uint64_t i = place.first(); i < vectors; i += place.step()) {
    for (std::size_t k = 0; k < 16; ++k)
      memory.data()[16 + 16 * i + k] = static_cast<std::byte>(k + i / place.step() % 100);
  }
  kernels::swap_vectors<Size::value>(at, count, place);
  std::uint64_t steps = 0;
  for (std::uint64_t i = place.first(); i < vectors; i += place.step(), ++steps) {
    for (std::size_t k = 0; k < 16; ++k) {
      const std::size_t other = k / Size::value * Size::value + Size::value - 1 - k % Size::value;
      REQUIRE(memory.data()[16 + 16 * i + k] == static_cast<std::byte>(other + steps % 100));
    }
  }
  CHECK(steps == 24);
}

}  // namespace swap_bytes_test
