// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/cuda/kernels/kernel_index.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <random>

namespace kernel_index_test {

namespace kernels = zarrpoint::cuda::detail;

TEST_CASE("fast_divisor: every divisor's quotients below 2^31") {
  std::mt19937_64 random(11);
  constexpr std::uint32_t most = 0x7fffffff;
  const auto check = [&](std::uint32_t by) {
    const kernels::fast_divisor divisor(by);
    const auto is_right = [&](std::uint32_t n) { return divisor.quotient(n) == n / by; };
    bool right = is_right(0) && is_right(most) && is_right(most - 1);
    for (int i = 0; i < 40; ++i) {
      const auto n = static_cast<std::uint32_t>(random() & most);
      // The numbers next to a multiple are where an error would show.
      const std::uint32_t multiple = n / by * by;
      right =
          right && is_right(n) && is_right(multiple) && (multiple == 0 || is_right(multiple - 1));
    }
    return right;
  };
  for (std::uint32_t by = 1; by < 5000; ++by) REQUIRE(check(by));
  for (int bit = 1; bit < 31; ++bit) {
    const std::uint32_t power = 1U << bit;
    for (const std::uint32_t by : {power - 1, power, power + 1}) REQUIRE(check(by));
  }
  REQUIRE(check(most));
  for (int i = 0; i < 20000; ++i) REQUIRE(check(1 + static_cast<std::uint32_t>(random() % most)));
}

TEST_CASE("blocks_for, divide_up: no overflow, no empty grid, no grid too large") {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  CHECK(kernels::divide_up(most, 1) == most);
  CHECK(kernels::divide_up(most, 2) == most / 2 + 1);
  CHECK(kernels::divide_up(0, 7) == 0);
  CHECK(kernels::blocks_for(1) == 1);
  CHECK(kernels::blocks_for(256) == 1);
  CHECK(kernels::blocks_for(257) == 2);
  CHECK(kernels::blocks_for(std::uint64_t{kernels::max_blocks} * 256 + 1) == kernels::max_blocks);
  CHECK(kernels::blocks_for(most) == kernels::max_blocks);
  CHECK(kernels::blocks_for(5000, 3) == 3);
}

TEST_CASE("thread_place: the threads of a grid share a loop") {
  constexpr std::uint64_t count = 5000;
  int visits[count]{};
  for (std::uint64_t block = 0; block < 3; ++block) {
    for (std::uint32_t thread = 0; thread < kernels::block_threads; ++thread) {
      const kernels::thread_place place{block, 3, thread};
      for (std::uint64_t i = place.first(); i < count; i += place.step()) ++visits[i];
    }
  }
  for (const int visit : visits) REQUIRE(visit == 1);
}

TEST_CASE("common_unit: the widest load that all addresses allow") {
  CHECK(kernels::common_unit(0) == 16);
  CHECK(kernels::common_unit(32 | 48) == 16);
  CHECK(kernels::common_unit(32 | 24) == 8);
  CHECK(kernels::common_unit(4096 | 12) == 4);
  CHECK(kernels::common_unit(6) == 2);
  CHECK(kernels::common_unit(7) == 1);
  CHECK(kernels::common_unit(static_cast<std::uint64_t>(std::int64_t{-24})) == 8);
}

TEST_CASE("load, store: what words of each width hold") {
  alignas(16) std::byte from[32];
  for (std::size_t i = 0; i < sizeof from; ++i) from[i] = static_cast<std::byte>(i);
  const auto check = [&]<std::size_t Bytes>(std::integral_constant<std::size_t, Bytes>) {
    static_assert(sizeof(kernels::word<Bytes>) == Bytes);
    alignas(16) std::byte to[32]{};
    kernels::store<Bytes>(to + 16, kernels::load<kernels::word<Bytes>, Bytes>(from + 16));
    CHECK(std::memcmp(to + 16, from + 16, Bytes) == 0);
    CHECK((Bytes == 16 || to[16 + Bytes] == std::byte{}));
    kernels::store<1>(to + 3, kernels::load<kernels::word<Bytes>, 1>(from + 5));
    CHECK(std::memcmp(to + 3, from + 5, Bytes) == 0);
  };
  check(std::integral_constant<std::size_t, 1>());
  check(std::integral_constant<std::size_t, 2>());
  check(std::integral_constant<std::size_t, 4>());
  check(std::integral_constant<std::size_t, 8>());
  check(std::integral_constant<std::size_t, 16>());
}

}  // namespace kernel_index_test
