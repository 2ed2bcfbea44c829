// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/store/zip/zip_member_writer.hpp>

#include "support/store_conformance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace zip_checksum_test {

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
  CHECK(checksum.end() == 0);
  checksum.add(10, all.first(10));
  CHECK(checksum.end() == 20);
  CHECK(checksum.hole(50) == std::pair<std::uint64_t, std::uint64_t>{0, 10});
  checksum.add(0, all.first(10));
  CHECK(checksum.hole(50) == std::pair<std::uint64_t, std::uint64_t>{20, 50});
  checksum.add(30, all.first(20));
  CHECK(checksum.hole(50) == std::pair<std::uint64_t, std::uint64_t>{20, 30});
  CHECK(checksum.end() == 50);
  CHECK_FALSE(checksum.overlaps());
  for (const std::size_t at : {19U, 25U, 49U}) {
    detail::zip_checksum other;
    other.add(0, all.first(20));
    other.add(30, all.first(20));
    other.add(at, all.first(10));
    CHECK(other.overlaps());
  }
}

TEST_CASE("zip_checksum: holes are told though pieces overlap, as counting each byte would") {
  const std::vector<std::byte> zeros(64);
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    detail::zip_checksum checksum;
    std::vector<int> counts(256);
    for (int piece = 0; piece < 12; ++piece) {
      const std::size_t at = random() % 200, size = random() % 50;
      checksum.add(at, bytes_view(zeros).first(size));
      for (std::size_t i = at; i < at + size; ++i) ++counts[i];
      const auto uncovered = std::find(counts.begin(), counts.end(), 0);
      const auto covered =
          std::find_if(uncovered, counts.end(), [](int count) { return count != 0; });
      const auto hole = checksum.hole(counts.size());
      CHECK(hole.first == static_cast<std::uint64_t>(uncovered - counts.begin()));
      CHECK(hole.second == static_cast<std::uint64_t>(covered - counts.begin()));
      CHECK(checksum.overlaps() ==
            std::any_of(counts.begin(), counts.end(), [](int count) { return count > 1; }));
    }
  }
}

}  // namespace zip_checksum_test
