// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/zip_checksum.hpp>

#include "support/store_conformance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace zarrpoint;

TEST_CASE("zip_checksum: pieces in any order") {
  const auto data = test::random_bytes(4000);
  std::vector<std::size_t> order;
  for (std::size_t at = 0; at < data.size(); at += 100) order.push_back(at);
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    detail::zip_checksum checksum;
    for (const std::size_t at : order) {
      const auto hole = checksum.hole(data.size());
      CHECK(hole.first < hole.second);
      checksum.add(at, bytes_view(data).subspan(at, 100));
    }
    CHECK_FALSE(checksum.overlaps());
    const auto hole = checksum.hole(data.size());
    CHECK(hole.first == hole.second);
    CHECK(checksum.value() == detail::crc32(0, data));
  }
}

TEST_CASE("zip_checksum: holes and overlaps are told") {
  const auto data = test::random_bytes(100);
  const bytes_view all(data);
  detail::zip_checksum checksum;
  checksum.add(10, all.first(10));
  CHECK(checksum.hole(50) == std::pair<std::uint64_t, std::uint64_t>{0, 10});
  checksum.add(0, all.first(10));
  CHECK(checksum.hole(50) == std::pair<std::uint64_t, std::uint64_t>{20, 50});
  checksum.add(30, all.first(20));
  CHECK(checksum.hole(50) == std::pair<std::uint64_t, std::uint64_t>{20, 30});
  CHECK_FALSE(checksum.overlaps());
  for (const std::size_t at : {19U, 25U, 49U}) {
    detail::zip_checksum other;
    other.add(0, all.first(20));
    other.add(30, all.first(20));
    other.add(at, all.first(10));
    CHECK(other.overlaps());
  }
}
