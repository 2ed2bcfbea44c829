// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// clang-format off: before the kernels
#include "cuda/simulated_kernels.hpp"
// clang-format on

#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/cuda/kernels/crc32c.cuh>

#include <doctest/doctest.h>

#include <memory>

namespace crc32c_test {

namespace zp = zarrpoint;
namespace kernels = zarrpoint::cuda::detail;
using namespace zarrpoint_test;

namespace {

std::uint32_t crc32c_on_host(const std::byte* data, std::size_t size) {
  return zp::crc32c({data, size});
}

/// The kernel's steps, each for all threads of a block before the next: what barriers see to.
std::uint32_t crc32c_in_steps(const kernels::crc32c_job& job) {
  const auto shared = std::make_unique<kernels::crc32c_shared>();
  std::uint32_t sum = 0;
  const std::uint64_t blocks = kernels::crc32c_blocks(job);
  for (std::uint64_t block = 0; block < blocks; ++block) {
    std::memset(shared.get(), 0xa5, sizeof *shared);
    const auto all = [&](auto&& step) {
      for (std::uint32_t t = 256; t-- > 0;) step(kernels::thread_place{block, blocks, t});
    };
    all([&](auto place) { kernels::crc32c_prepare(job, kernels::crc32c_known, *shared, place); });
    all([&](auto place) { kernels::crc32c_sum_rows(job, *shared, place); });
    for (std::uint32_t level = 0; level < kernels::crc32c_levels; ++level) {
      // In any order: what one thread of a level writes, no other reads.
      const auto first = static_cast<std::uint32_t>(block + level) % 256;
      for (std::uint32_t t = 0; t < 256; ++t)
        kernels::crc32c_join(kernels::crc32c_known, *shared, level, (first + 37 * t) % 256);
    }
    sum ^= kernels::crc32c_of_block(job, *shared, block);
  }
  return sum;
}

}  // namespace

TEST_CASE("crc32c kernel: random sizes and addresses, in any number of blocks") {
  random_source random(61);
  for (int n = 0; n < 250; ++n) {
    CAPTURE(n);
    const std::size_t longest = n % 5 == 0 ? 600'000 : n % 5 == 1 ? 5'000 : 100;
    const std::size_t bytes = 1 + pick(random, longest);
    shifted_bytes at(random, bytes, pick(random, 2) == 0 ? 0 : pick(random, 17));
    kernels::crc32c_job job = kernels::make_crc32c_job(at.data(), bytes, 1 + pick(random, 20));
    // Fewer rows in a block than would be worth it.
    if (pick(random, 2) == 0) job.block_rows = 1 + pick(random, 16);
    REQUIRE(crc32c_in_steps(job) == crc32c_on_host(at.data(), bytes));
  }
}

TEST_CASE("crc32c kernel: at the borders of vectors, rows and groups of rows") {
  random_source random(62);
  constexpr std::size_t row = kernels::crc32c_row;
  for (const std::size_t near : {16UL, row, 4 * row, 5 * row, 16 * row, 17 * row}) {
    for (const std::size_t shift : {0UL, 1UL, 15UL}) {
      for (const std::size_t bytes : {near - 1, near, near + 1, near - shift, near + 16 - shift}) {
        CAPTURE(bytes);
        CAPTURE(shift);
        shifted_bytes at(random, bytes, shift);
        const kernels::crc32c_job job = kernels::make_crc32c_job(at.data(), bytes, 1024);
        REQUIRE(crc32c_in_steps(job) == crc32c_on_host(at.data(), bytes));
      }
    }
  }
}

TEST_CASE("crc32c kernel: launched, with barriers between its threads") {
  random_source random(63);
  simulated = {};
  simulated.has_barriers = true;
  for (const std::size_t bytes : {0UL, 1UL, 9UL, 5'000UL, 65'536UL, 200'003UL}) {
    CAPTURE(bytes);
    shifted_bytes at(random, bytes, pick(random, 17));
    alignas(4) std::byte to[4];
    std::memset(to, 0x77, sizeof to);
    REQUIRE(kernels::crc32c(nullptr, to, at.data(), bytes) == cudaSuccess);
    REQUIRE(zp::load_le<std::uint32_t>(to) == crc32c_on_host(at.data(), bytes));
  }
  CHECK(simulated.launches == 5);
  CHECK(simulated.blocks == 4);  // of 16 rows
  std::byte digits[9];
  std::memcpy(digits, "123456789", 9);
  alignas(4) std::byte to[8]{};
  CHECK(kernels::crc32c(nullptr, to, digits, 9) == cudaSuccess);
  CHECK(zp::load_le<std::uint32_t>(to) == 0xe3069283);
  CHECK(kernels::crc32c(nullptr, to + 1, digits, 9) == cudaErrorInvalidValue);
  simulated.next_error = cudaErrorLaunchFailure;
  CHECK(kernels::crc32c(nullptr, to, digits, 9) == cudaErrorLaunchFailure);
  CHECK(simulated.remembered == cudaSuccess);
}

TEST_CASE("crc32c kernel: each entry of a table by one block, of any size from one byte on") {
  random_source random(66);
  for (int n = 0; n < 2000; ++n) {
    CAPTURE(n);
    const std::size_t longest = n % 100 == 0 ? 2'000'000 : n % 5 == 1 ? 40'000 : 300;
    const std::size_t bytes = 1 + pick(random, longest);
    shifted_bytes at(random, bytes, 0);
    const std::uint32_t expected = crc32c_on_host(at.data(), bytes);
    const zp::device_checksum one{kernels::address_of(at.data()), 1,
                                  static_cast<std::uint32_t>(bytes), expected};
    REQUIRE(crc32c_in_steps(kernels::crc32c_job_of(one)) == expected);
  }
}

TEST_CASE("crc32c kernel: the marks of a table's entries that are right, and of no others") {
  random_source random(67);
  simulated = {};
  simulated.has_barriers = true;
  std::vector<shifted_bytes> data;
  std::vector<zp::device_checksum> table;
  std::uint64_t expected = 3;  // what was there before stays
  for (const std::size_t bytes : {1UL, 5'000UL, 16UL, 70'001UL, 4'096UL, 8'192UL}) {
    const std::size_t damaged = pick(random, 3);
    shifted_bytes& at = data.emplace_back(random, bytes, 0);
    table.push_back({kernels::address_of(at.data()), random(), static_cast<std::uint32_t>(bytes),
                     crc32c_on_host(at.data(), bytes)});
    if (damaged == 0) at.data()[pick(random, bytes)] ^= std::byte{1};
    if (damaged == 1) table.back().crc32c ^= 0x80000000;
    if (damaged == 2) expected += table.back().mark;
  }
  CHECK(expected != 3);
  alignas(8) std::byte marks[16]{std::byte{3}};
  REQUIRE(kernels::compare_crc32c(nullptr, table.data(), table.size(), marks) == cudaSuccess);
  CHECK(zp::load_le<std::uint64_t>(marks) == expected);
  CHECK(simulated.launches == 1);
  CHECK(kernels::compare_crc32c(nullptr, table.data(), 0, marks) == cudaSuccess);
  CHECK(kernels::compare_crc32c(nullptr, table.data(), 1, marks + 4) == cudaErrorInvalidValue);
  CHECK(simulated.launches == 1);
  simulated.next_error = cudaErrorLaunchFailure;
  CHECK(kernels::compare_crc32c(nullptr, table.data(), 1, marks) == cudaErrorLaunchFailure);
  CHECK(simulated.remembered == cudaSuccess);
}

TEST_CASE("crc32c kernel: a block of 20 GiB adds what is there between zeros") {
  constexpr std::uint64_t bytes = (std::uint64_t{20} << 30) + 4711;
  const sparse_memory memory(bytes + 16);
  const std::byte* const from = memory.data() + 5;
  const kernels::crc32c_job job = kernels::make_crc32c_job(from, bytes, 1024);
  const std::uint64_t blocks = kernels::crc32c_blocks(job);
  CHECK(blocks == 1025 - 1);
  // Two rows in the last block but one, which begin at its last row but three.
  const std::uint64_t at = ((blocks - 1) * job.block_rows - 4) * kernels::crc32c_row;
  random_source random(64);
  const std::vector<std::byte> data = random_bytes(random, 2 * kernels::crc32c_row);
  std::memcpy(memory.data() + at, data.data(), data.size());
  const auto shared = std::make_unique<kernels::crc32c_shared>();
  // Only these threads and rows: the rest are zeros.
  kernels::crc32c_job part = job;
  part.block_rows = 4;
  const std::uint64_t block = at / kernels::crc32c_row / 4;
  REQUIRE(block * 4 * kernels::crc32c_row <= at);
  part.rows = job.rows;
  std::uint32_t sum = job.of_zeros;
  for (std::uint64_t b = block; b < block + 2; ++b) {
    for (std::uint32_t t = 0; t < 256; ++t)
      kernels::crc32c_prepare(part, kernels::crc32c_known, *shared, {b, 0, t});
    for (std::uint32_t t = 0; t < 256; ++t) kernels::crc32c_sum_rows(part, *shared, {b, 0, t});
    for (std::uint32_t level = 0; level < kernels::crc32c_levels; ++level) {
      for (std::uint32_t t = 0; t < 256; ++t)
        kernels::crc32c_join(kernels::crc32c_known, *shared, level, t);
    }
    sum ^= kernels::crc32c_of_block(part, *shared, b);
  }
  const auto zeros = [](std::uint64_t count) {
    std::uint32_t crc = 0;  // of zeros, by doubling
    std::uint32_t power = crc32c_on_host(std::vector<std::byte>(1).data(), 1);
    for (std::uint64_t size = 1; size <= count; size *= 2) {
      if ((count & size) != 0) crc = zp::detail::crc32c_combine(crc, power, size);
      power = zp::detail::crc32c_combine(power, power, size);
    }
    return crc;
  };
  const std::uint64_t before = at - 5;
  const std::uint64_t after = bytes - before - data.size();
  std::uint32_t expected = zeros(before);
  expected =
      zp::detail::crc32c_combine(expected, crc32c_on_host(data.data(), data.size()), data.size());
  expected = zp::detail::crc32c_combine(expected, zeros(after), after);
  CHECK(sum == expected);
  CHECK(kernels::crc32c_of_zeros(bytes) == zeros(bytes));
}

TEST_CASE("crc32c kernel: exponents of sizes that no memory has") {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  random_source random(65);
  for (int n = 0; n < 1000; ++n) {
    const std::uint64_t bytes = n == 0 ? most : random() >> pick(random, 64);
    std::uint64_t exponent = bytes % kernels::crc32c_order;
    for (int i = 0; i < 3; ++i) exponent = 2 * exponent % kernels::crc32c_order;
    REQUIRE(kernels::crc32c_exponent(bytes) == exponent);
  }
  for (int n = 0; n < 200; ++n) {
    const auto a = static_cast<std::uint32_t>(random());
    const auto b = static_cast<std::uint32_t>(random());
    REQUIRE(kernels::crc32c_product(a, b) == zp::detail::crc32c_multiply(a, b));
  }
}

}  // namespace crc32c_test
