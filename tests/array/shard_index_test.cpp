// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/shard/shard_index.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace shard_index_test { namespace {

using namespace zarrpoint;

detail::shard_index index_of(const std::vector<detail::shard_entry>& entries) {
  detail::shard_index out = detail::shard_index::make(entries.size()).value();
  for (std::size_t i = 0; i < entries.size(); ++i) out.set(i, entries[i]);
  return out;
}

/// The message of the refusal of an index of 1000 bytes of which the index takes the last 100.
std::string refusal(const std::vector<detail::shard_entry>& entries) {
  const auto status = index_of(entries).check(1000, 900, 100);
  if (status) return "";
  CHECK(status.failure().code == errc::corrupt);
  return status.failure().message;
}

constexpr std::uint64_t mark = UINT64_MAX;

TEST_CASE("a new index has only absent entries") {
  const detail::shard_index index = detail::shard_index::make(3).value();
  REQUIRE(index.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(index[i].absent());
  CHECK(index.check(100, 52, 48));
  CHECK(detail::shard_index::make(0).value().size() == 0);
}

TEST_CASE("entries are pairs of words") {
  detail::shard_index index = detail::shard_index::make(2).value();
  index.set(1, {7, 9});
  CHECK(index[0].absent());
  CHECK(index[1] == detail::shard_entry{7, 9});
  std::uint64_t words[4];
  REQUIRE(index.words().size() == sizeof words);
  std::memcpy(words, std::as_const(index).words().data(), sizeof words);
  CHECK(words[0] == mark);
  CHECK(words[2] == 7);
  CHECK(words[3] == 9);
}

TEST_CASE("any order and gaps are legal") {
  CHECK(refusal({{0, 10}, {10, 20}, {30, 870}}) == "");
  CHECK(refusal({{500, 10}, {mark, mark}, {3, 20}, {899, 1}}) == "");
  CHECK(refusal({{900, 0}, {0, 0}, {5, 10}, {7, 0}}) == "");
  CHECK(index_of({{68, 40}, {108, 20}}).check(128, 0, 68));
}

TEST_CASE("lies are refused, naming the entry") {
  CHECK(refusal({{0, 10}, {mark, 10}})
            .find("entry 1 marks its inner chunk as absent in one of its two fields only") !=
        std::string::npos);
  CHECK(refusal({{10, mark}}).find("entry 0 marks its inner chunk as absent in one") !=
        std::string::npos);
  CHECK(refusal({{mark - 1, 10}}).find("past the end") != std::string::npos);
  CHECK(refusal({{0, mark - 1}}).find("past the end") != std::string::npos);
  CHECK(refusal({{1, 1000}}).find("past the end of the 1000 bytes") != std::string::npos);
  CHECK(refusal({{1001, 0}}).find("past the end") != std::string::npos);
  CHECK(refusal({{850, 51}}).find("inside the index") != std::string::npos);
  CHECK(refusal({{950, 10}}).find("inside the index") != std::string::npos);
  CHECK(refusal({{0, 10}, {9, 10}}).find("entry 1 overlaps entry 0") != std::string::npos);
  CHECK(refusal({{50, 10}, {mark, mark}, {0, 51}}).find("entry 2 overlaps entry 0") !=
        std::string::npos);
  CHECK(refusal({{50, 10}, {20, 31}, {70, 5}}).find("entry 1 overlaps entry 0") !=
        std::string::npos);
  CHECK(refusal({{950, 1}}).find("inside the index") != std::string::npos);
  CHECK(refusal({{950, 0}}) == "");  // it reads nothing where nothing is
  CHECK(refusal({{0, 10}, {0, 10}}).find("overlaps") != std::string::npos);
  const auto start = index_of({{60, 40}}).check(1000, 0, 68);
  REQUIRE_FALSE(start);
  CHECK(start.failure().message.find("inside the index") != std::string::npos);
}

TEST_CASE("overlaps are found as a naive comparison of all pairs finds them") {
  std::mt19937 random(7);
  int overlapping = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<detail::shard_entry> entries;
    for (unsigned i = 0; i < 1 + random() % 5; ++i) {
      if (random() % 6 == 0) {
        entries.emplace_back();
      } else {
        entries.push_back({random() % 60, random() % 9});
      }
    }
    bool overlap = false;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const detail::shard_entry a = entries[i], b = entries[j];
        if (a.absent() || b.absent() || a.size == 0 || b.size == 0) continue;
        overlap = overlap || (a.offset < b.offset + b.size && b.offset < a.offset + a.size);
      }
    }
    overlapping += overlap ? 1 : 0;
    CHECK(index_of(entries).check(1000, 900, 100).has_value() == !overlap);
  }
  CHECK(overlapping > 100);
}

TEST_CASE("a few entries elsewhere among many in order, as shards that were extended have them") {
  std::mt19937 random(11);
  int overlapping = 0;
  for (int round = 0; round < 400; ++round) {
    // 40 in order, with gaps, and some of them moved behind the others, or where they like.
    std::vector<detail::shard_entry> entries;
    for (std::uint64_t i = 0; i < 40; ++i) entries.push_back({10 * i, 10 - random() % 2});
    std::uint64_t end = 400;
    for (auto moved = random() % 6; moved > 0; --moved) {
      detail::shard_entry& one = entries[random() % entries.size()];
      const bool anywhere = random() % 4 == 0;
      one = {anywhere ? random() % 890 : end, 10};
      end += 10;
    }
    bool overlap = false;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const detail::shard_entry a = entries[i], b = entries[j];
        overlap = overlap || (a.offset < b.offset + b.size && b.offset < a.offset + a.size);
      }
    }
    overlapping += overlap ? 1 : 0;
    CHECK(index_of(entries).check(1000, 900, 100).has_value() == !overlap);
  }
  CHECK(overlapping > 50);
  CHECK(overlapping < 350);
}

TEST_CASE("an index keeps to the memory it may take") {
  limited_resource budget(1000);
  const auto large = detail::shard_index::make(1 << 20, budget);
  REQUIRE_FALSE(large);
  CHECK(large.failure().code == errc::resource_limit);
  const auto overflow = detail::shard_index::make(UINT64_MAX / 8, budget);
  REQUIRE_FALSE(overflow);
  CHECK(overflow.failure().code == errc::out_of_range);
  // Sorting needs memory, too; what is in order already, as most writers leave it, is not sorted.
  limited_resource little(8);
  CHECK(index_of({{0, 10}, {10, 20}, {mark, mark}, {40, 1}}).check(1000, 900, 100, little));
  const auto unsorted = index_of({{50, 10}, {0, 10}}).check(1000, 900, 100, little);
  REQUIRE_FALSE(unsorted);
  CHECK(unsorted.failure().code == errc::resource_limit);
}

}}  // namespace shard_index_test
