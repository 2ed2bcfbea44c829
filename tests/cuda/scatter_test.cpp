// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// clang-format off: before the kernels
#include "cuda/simulated_kernels.hpp"
// clang-format on

#include <zarrpoint/cuda/kernels/scatter.cuh>

#include "support/random_rounds.hpp"

#include <doctest/doctest.h>

namespace scatter_test {

namespace zp = zarrpoint;
namespace kernels = zarrpoint::cuda::detail;
using namespace zarrpoint_test;

namespace {

std::uint64_t address(const std::byte* at) { return kernels::address_of(at); }

}  // namespace

TEST_CASE("scatter kernel: random runs against one by one") {
  random_source random(31);
  simulated = {};
  for (int n = 0; n < random_rounds(400); ++n) {
    CAPTURE(n);
    const std::size_t count = n % 10 == 0 ? 1 + pick(random, 300) : 1 + pick(random, 6);
    const std::size_t longest = n % 7 == 0 ? 5000 : 100;
    // Every run and the gaps around it in a piece of its own.
    const std::size_t piece = longest + 64;
    const std::vector<std::byte> from = random_bytes(random, count * piece);
    std::vector<std::byte> expected = random_bytes(random, count * piece);
    std::vector<std::byte> actual = expected;
    std::vector<zp::device_segment> table;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t bytes = pick(random, 5) == 0 ? pick(random, 20) : pick(random, longest);
      const std::size_t to_at = i * piece + pick(random, 33);
      // The same alignment every other time.
      const std::size_t from_at = pick(random, 2) == 0 ? to_at : i * piece + pick(random, 33);
      std::memcpy(expected.data() + to_at, from.data() + from_at, bytes);
      table.push_back({address(actual.data() + to_at), address(from.data() + from_at), bytes});
    }
    REQUIRE(kernels::scatter(nullptr, table.data(), table.size()) == cudaSuccess);
    REQUIRE(expected == actual);
  }
}

TEST_CASE("scatter kernel: grids for one run and for many") {
  simulated = {};
  simulated.only_counts = true;
  CHECK(kernels::blocks_per_run(0) == 1);
  CHECK(kernels::blocks_per_run(1) == 256);
  CHECK(kernels::blocks_per_run(100) == 40);
  CHECK(kernels::blocks_per_run(1'000'000) == 1);
  const std::vector<zp::device_segment> nothing(70'000);
  CHECK(kernels::scatter(nullptr, nothing.data(), 1) == cudaSuccess);
  CHECK(simulated.blocks == 256);
  CHECK(kernels::scatter(nullptr, nothing.data(), nothing.size()) == cudaSuccess);
  CHECK(simulated.blocks == kernels::max_blocks);
  CHECK(kernels::scatter(nullptr, nullptr, 0) == cudaSuccess);
  CHECK(simulated.launches == 2);
  const auto* odd = reinterpret_cast<const zp::device_segment*>(8 * 5 + 4);
  CHECK(kernels::scatter(nullptr, odd, 1) == cudaErrorInvalidValue);
  simulated.next_error = cudaErrorInvalidDeviceFunction;
  CHECK(kernels::scatter(nullptr, nothing.data(), 1) == cudaErrorInvalidDeviceFunction);
  CHECK(simulated.remembered == cudaSuccess);
}

TEST_CASE("scatter kernel: a run of more than 4 GiB") {
  constexpr std::uint64_t bytes = (std::uint64_t{5} << 30) + 18;
  const sparse_memory to(bytes + 32);
  const sparse_memory from(bytes + 32);
  const zp::device_segment run{address(to.data() + 3), address(from.data() + 3), bytes};
  // The thread that has the last whole word, and those of the bytes behind it.
  const std::uint64_t words = (bytes - 13) / 16;
  const std::uint64_t step = 256 * 256;
  const std::uint64_t mine = (words - 1) % step;
  for (std::uint64_t i = mine; i < words; i += step)
    from.data()[16 + i * 16 + i / step % 16] = static_cast<std::byte>(1 + i / step % 255);
  for (std::uint64_t i = bytes + 3 - 5; i < bytes + 3; ++i)
    from.data()[i] = static_cast<std::byte>(i % 100 + 1);
  kernels::scatter_runs(&run, 1, 256, {mine / 256, 256, static_cast<std::uint32_t>(mine % 256)});
  for (std::uint32_t t = 0; t < 16; ++t) kernels::scatter_runs(&run, 1, 256, {0, 256, t});
  for (std::uint64_t i = mine; i < words; i += step)
    REQUIRE(to.data()[16 + i * 16 + i / step % 16] == static_cast<std::byte>(1 + i / step % 255));
  CHECK(std::memcmp(to.data() + bytes - 2, from.data() + bytes - 2, 5) == 0);
}

}  // namespace scatter_test
