// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/blosc/huffman_encode.hpp>

#include "support/huffman_cases.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

namespace huffman_sample_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::detail::byte_counts;
using zp::detail::huffman_kernel;
using bytes = std::vector<std::byte>;

namespace {

byte_counts counts_of(zp::bytes_view from) {
  byte_counts out{};
  for (const std::byte one : from) ++out[std::to_integer<std::size_t>(one)];
  return out;
}

}  // namespace

TEST_CASE("huffman_sample: samples have all symbols, and are the same by all kernels") {
  random_source random(4);
  for (const std::size_t size :
       {0u, 1u, 7u, 31u, 32u, 33u, 1000u, 16'383u, 16'384u, 16'385u, 131'072u, 300'001u}) {
    CAPTURE(size);
    byte_counts rare{};
    rare.fill(1);
    rare[200] = 1 << 20;
    const bytes from = bytes_like(rare, size, random);
    const byte_counts exact = counts_of(from);
    for (const huffman_kernel kernel : huffman_kernels()) {
      const byte_counts found = sampled_counts(from, kernel);
      if (size < 16'384) REQUIRE(found == exact);
      for (std::size_t i = 0; i < 256; ++i) {
        REQUIRE((found[i] == 0) == (exact[i] == 0));
        REQUIRE(found[i] <= exact[i]);
      }
      REQUIRE(found == sampled_counts(from, huffman_kernel::portable));
    }
  }
}

TEST_CASE("huffman_sample: samples are as large as was said, and follow no column") {
  const auto sum = [](const byte_counts& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  };
  random_source random(5);
  CHECK(sum(sampled_counts(bytes(1 << 17), huffman_kernel::portable)) == 8192);
  CHECK(sum(sampled_counts(random_bytes(random, 1 << 17), huffman_kernel::portable)) == 32'768);
  CHECK(sum(zp::detail::sample_of(bytes(100'000), 1024)) == 1024);
  CHECK(sum(zp::detail::sample_of(bytes(1 << 20), 1 << 14)) == 1 << 14);
  CHECK(sum(zp::detail::sample_of(bytes(800), 500)) == 800);
  CHECK(sum(zp::detail::sample_of({}, 500)) == 0);
  // A matrix of 512 columns, of which one eighth has another value.
  bytes matrix(1 << 17);
  for (std::size_t i = 0; i < matrix.size(); ++i)
    matrix[i] = static_cast<std::byte>(i % 512 / 64 == 3);
  const byte_counts found = zp::detail::sample_of(matrix, 8192);
  CHECK(found[1] > 8192 / 8 * 7 / 10);
  CHECK(found[1] < 8192 / 8 * 13 / 10);
}

}  // namespace huffman_sample_test
