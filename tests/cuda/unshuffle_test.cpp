// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// clang-format off: before the kernels
#include "cuda/simulated_kernels.hpp"
// clang-format on

#include <zarrpoint/cuda/kernels/unshuffle.cuh>

#include <doctest/doctest.h>

namespace unshuffle_test {

namespace kernels = zarrpoint::cuda::detail;
using namespace zarrpoint_test;

TEST_CASE("unshuffle kernel: random sizes, counts and addresses against one by one") {
  random_source random(51);
  simulated = {};
  constexpr std::size_t sizes[] = {2, 2, 2, 4, 4, 4, 8, 8, 16, 16, 1, 3, 5, 12, 24, 100};
  for (int n = 0; n < 1500; ++n) {
    CAPTURE(n);
    const std::size_t size = sizes[pick(random, std::size(sizes))];
    // Multiples of 16 every other time, as chunks have.
    std::size_t count = pick(random, n % 10 == 0 ? 3000 : 80);
    if (pick(random, 2) == 0) count = count / 16 * 16;
    const std::size_t bytes = size * count;
    shifted_bytes from(random, bytes, pick(random, 2) == 0 ? 0 : pick(random, 17));
    shifted_bytes to(random, bytes, pick(random, 2) == 0 ? 0 : pick(random, 17));
    std::vector<std::byte> expected(bytes);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t p = 0; p < size; ++p) expected[i * size + p] = from.data()[p * count + i];
    }
    REQUIRE(kernels::unshuffle(nullptr, to.data(), from.data(), size, count) == cudaSuccess);
    REQUIRE(to.copy() == expected);
  }
  CHECK(simulated.copies > 20);
}

TEST_CASE("unshuffle kernel: nothing to do, and errors of launches") {
  simulated = {};
  alignas(16) std::byte to[16]{};
  const std::byte from[16]{};
  CHECK(kernels::unshuffle(nullptr, to, from, 4, 0) == cudaSuccess);
  CHECK(kernels::unshuffle(nullptr, to, from, 0, 4) == cudaSuccess);
  CHECK(simulated.launches + simulated.copies == 0);
  simulated.next_error = cudaErrorLaunchFailure;
  for (const std::size_t size : {1U, 2U, 3U, 4U, 8U, 16U})
    CHECK(kernels::unshuffle(nullptr, to, from, size, 1) == cudaErrorLaunchFailure);
  CHECK(simulated.remembered == cudaSuccess);
}

TEST_CASE("unshuffle kernel: planes beyond 4 GiB") {
  constexpr std::uint64_t count = (std::uint64_t{3} << 29) + 8;  // 4 planes of 1.5 GiB
  const sparse_memory to(4 * count);
  const sparse_memory from(4 * count);
  const kernels::thread_place place{kernels::max_blocks - 2, kernels::max_blocks, 17};
  for (std::uint64_t i = place.first(); i < count / 4; i += place.step()) {
    for (std::uint64_t k = 0; k < 16; ++k)
      from.data()[k % 4 * count + i * 4 + k / 4] =
          static_cast<std::byte>(k + i / place.step() % 200);
  }
  kernels::unshuffle_groups<4, 4>(to.data(), from.data(), count, place);
  std::uint64_t steps = 0;
  for (std::uint64_t i = place.first(); i < count / 4; i += place.step(), ++steps) {
    for (std::uint64_t k = 0; k < 16; ++k)
      REQUIRE(to.data()[i * 16 + k] == static_cast<std::byte>(k + steps % 200));
  }
  CHECK(steps == 24);
}

}  // namespace unshuffle_test
