// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/plan/share_regions.hpp>

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace share_regions_test {

namespace {

using namespace zarrpoint;
using detail::region_options;
using detail::shard_table;
using detail::shared_regions;

shard_metadata part(const dims& global, const box& at) {
  return {.key = "w",
          .type = dtype_kind::uint8,
          .local_shape = at.shape,
          .global_shape = global,
          .global_offset = at.offset};
}

shard_table by_columns(index_t rows, index_t columns, int ranks) {
  shard_table out;
  for (int rank = 0; rank < ranks; ++rank) {
    const index_t width = columns / ranks;
    REQUIRE(out.add(rank, part({rows, columns}, {{0, rank * width}, {rows, width}})));
  }
  return out;
}

shared_regions shared(const shard_table& asked, const region_options& how) {
  auto out = detail::share_regions(asked, how);
  REQUIRE(out);
  return *out;
}

/// The regions of what is cut.
std::set<std::string> boxes_of(const shared_regions& of) {
  std::set<std::string> out;
  for (std::size_t i = 0; i < of.first_whole; ++i) out.insert(to_string(of.table.global_box(i)));
  return out;
}

}  // namespace

TEST_CASE("share regions: columns of what lies in rows are read in slabs of whole units") {
  const shard_table asked = by_columns(100, 12, 3);
  const shared_regions slabs = shared(asked, {.units = {{8, 12}}, .bytes = 30 * 12});
  CHECK(slabs.first_whole == 5 * 3);  // 24 rows, and 4
  CHECK(slabs.table.size() == slabs.first_whole);
  CHECK(boxes_of(slabs) == std::set<std::string>{"[0:24, 0:12]", "[24:48, 0:12]", "[48:72, 0:12]",
                                                 "[72:96, 0:12]", "[96:100, 0:12]"});
  CHECK(slabs.wanted(asked, 1) == box{{0, 4}, {24, 4}});
  // A unit of more bytes is a region.
  CHECK(boxes_of(shared(asked, {.units = {{50, 12}}, .bytes = 1})) ==
        std::set<std::string>{"[0:50, 0:12]", "[50:100, 0:12]"});
}

TEST_CASE("share regions: what no two boxes have in common is not cut") {
  // Columns of what lies in these columns, and in one chunk that is too large to be sent.
  const shard_table asked = by_columns(100, 12, 3);
  for (const region_options& how :
       {region_options{.units = {{8, 4}}}, region_options{.units = {{8, 1}}},
        region_options{.units = {}}, region_options{.units = {dims{}}},
        region_options{.units = {{8}}}, region_options{.units = {{0, 12}}},
        region_options{.units = {{8, 12}}, .group_of = {0, 1, 2}},
        region_options{.units = {{100, 12}}, .most = 2 * 1200 - 1}}) {
    const shared_regions out = shared(asked, how);
    CHECK(out.first_whole == 0);
    CHECK(out.table.size() == 3);
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(out.table.metadata(i) == asked.metadata(out.request_of[i]));
  }
  CHECK(shared(asked, {.units = {{100, 12}}, .most = 2 * 1200}).first_whole == 3);
  // Two of one group, and one of another.
  CHECK(shared(asked, {.units = {{100, 12}}, .group_of = {0, 1, 0}}).first_whole == 2);
}

TEST_CASE("share regions: equal boxes, flat pieces, strings and nothing stay as they are") {
  shard_table asked;
  const dims global{8, 8};
  REQUIRE(asked.add(0, part(global, {{0, 0}, {8, 8}})));
  REQUIRE(asked.add(1, part(global, {{0, 0}, {8, 8}})));
  shard_metadata flat = part(global, {{0, 0}, {8, 8}});
  flat.range = flat_range{3, 40};
  REQUIRE(asked.add(1, flat));
  REQUIRE(asked.add(1, part(global, {{0, 3}, {0, 2}})));
  for (const index_t from : {0, 2}) {
    shard_metadata text = part(global, {{from, 0}, {4, 8}});
    text.type = dtype_kind::string;
    REQUIRE(asked.add(0, text));
  }
  const std::vector<dims> units(asked.forms().size(), dims{8, 8});
  CHECK(shared(asked, {.units = units}).first_whole == 0);
  // One that leaves its tensor is for others to refuse.
  REQUIRE(asked.add(1, part(global, {{4, INT64_MAX - 2}, {2, 7}})));
  CHECK(shared(asked, {.units = units}).first_whole == 0);
  REQUIRE(asked.add(1, part(global, {{4, 4}, {4, 4}})));
  const shared_regions cut = shared(asked, {.units = units});
  CHECK(cut.first_whole == 3);
  CHECK(boxes_of(cut) == std::set<std::string>{"[0:8, 0:8]"});
}

TEST_CASE("share regions: random boxes: each element of each once, and no unit in two regions") {
  std::mt19937_64 random(7);
  const auto below = [&](index_t n) {
    return static_cast<index_t>(random() % static_cast<std::uint64_t>(n));
  };
  std::size_t cut = 0;
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const auto rank = static_cast<std::size_t>(1 + below(3));
    dims global;
    dims unit;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      global.push_back(1 + below(24));
      unit.push_back(1 + below(9));
    }
    shard_table asked;
    const auto processes = static_cast<int>(1 + below(5));
    for (index_t n = 2 + below(6); n > 0; --n) {
      box at = box::whole(global);
      for (std::size_t axis = 0; axis < rank; ++axis) {
        at.offset[axis] = below(global[axis]);
        at.shape[axis] = 1 + below(global[axis] - at.offset[axis]);
      }
      shard_metadata one = part(global, at);
      if (at.shape[0] == 1 && below(2) == 0) {
        one.prepended_axes = 1;
        one.local_shape = dims(std::span<const index_t>(at.shape).subspan(1));
      }
      one.replica = n;
      REQUIRE(asked.add(static_cast<int>(below(processes)), one));
    }
    std::vector<int> group_of;
    for (int i = 0; i < processes; ++i) group_of.push_back(static_cast<int>(below(2)));
    const shared_regions out =
        shared(asked, {.units = std::vector<dims>(asked.forms().size(), unit),
                       .group_of = group_of,
                       .bytes = static_cast<std::uint64_t>(1 + below(300))});
    cut += out.first_whole;
    std::map<std::uint32_t, index_t> elements;
    std::map<std::pair<int, std::string>, std::string> region_of_unit;  // by group
    REQUIRE(out.request_of.size() == out.table.size());
    for (std::size_t i = 0; i < out.table.size(); ++i) {
      const std::uint32_t request = out.request_of[i];
      CHECK(out.table.rank(i) == asked.rank(request));
      CHECK(out.is_cut(i) == (i < out.first_whole));
      const box wanted = out.wanted(asked, i);
      index_t count = 1;
      for (const index_t n : wanted.shape) count *= n;
      CHECK(count > 0);
      elements[request] += count;
      if (!out.is_cut(i)) {
        CHECK(out.table.metadata(i) == asked.metadata(request));
        continue;
      }
      CHECK(out.table.metadata(i).check());
      // The first and the last unit of a region are in no other one, of any process of the group.
      const box region = out.table.global_box(i);
      for (const bool last : {false, true}) {
        dims at;
        for (std::size_t axis = 0; axis < rank; ++axis)
          at.push_back((region.offset[axis] + (last ? region.shape[axis] - 1 : 0)) / unit[axis]);
        const int group = group_of[static_cast<std::size_t>(asked.rank(request))];
        const auto [entry, is_new] =
            region_of_unit.emplace(std::pair(group, to_string(at)), to_string(region));
        CHECK((is_new || entry->second == to_string(region)));
      }
    }
    for (std::uint32_t i = 0; i < asked.size(); ++i) {
      index_t count = 1;
      for (const index_t n : asked.global_box(i).shape) count *= n;
      CHECK(elements[i] == count);
    }
  }
  CHECK(cut > 1000);
}

}  // namespace share_regions_test
