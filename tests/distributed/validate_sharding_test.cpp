// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/plan/save_plan.hpp>
#include <zarrpoint/distributed/plan/validate_sharding.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>

#include "../support/random_rounds.hpp"
#include "support/random_sharding.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

namespace validate_sharding_test {

namespace {

using namespace zarrpoint;
using namespace test_support;

/// Of `count` processes each with the fragment of its number.
std::vector<test_support::gathered_shard> row(index_t count, const std::string& key = "w") {
  std::vector<test_support::gathered_shard> out;
  for (index_t i = 0; i < count; ++i)
    out.push_back({static_cast<int>(i),
                   {.key = key,
                    .type = dtype_kind::float32,
                    .local_shape = {4},
                    .global_shape = {4 * count},
                    .global_offset = {4 * i},
                    .fragmentation = dims{count}}});
  return out;
}

std::string problems(const std::vector<test_support::gathered_shard>& shards,
                     const std::vector<detail::gathered_object>& objects = {}) {
  const auto status =
      detail::validate_sharding(test_support::make_shard_table(shards).value(), objects);
  if (status) return "";
  CHECK(status.failure().code == errc::invalid_argument);
  return status.failure().message;
}

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CAPTURE(part);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

/// Whether the main replicas hold each element once, element by element.
bool holds_each_once(const std::vector<test_support::gathered_shard>& shards) {
  const dims& global = shards.front().shard.global_shape;
  std::vector<int> counts(static_cast<std::size_t>(element_count(global).value()), 0);
  for (const test_support::gathered_shard& one : shards) {
    const box part = one.shard.global_box();
    const flat_range range =
        one.shard.range.value_or(flat_range{0, element_count(part.shape).value()});
    if (!one.shard.replica.is_main()) continue;
    for (index_t i = range.start; i < range.stop; ++i) {
      index_t rest = i;
      index_t at = 0;
      index_t stride = 1;
      for (std::size_t axis = global.rank(); axis-- > 0;) {
        at += stride * (part.offset[axis] + rest % part.shape[axis]);
        rest /= part.shape[axis];
        stride *= global[axis];
      }
      ++counts[static_cast<std::size_t>(at)];
    }
  }
  return std::all_of(counts.begin(), counts.end(), [](int n) { return n == 1; });
}

}  // namespace

TEST_CASE("VAL-2: overlap, hole, disagreement, objects: all of it at once, in the order of keys") {
  std::vector<test_support::gathered_shard> shards = row(4, "b");
  shards.erase(shards.begin() + 2);
  std::vector<test_support::gathered_shard> other = row(3, "a");
  other[1].shard.type = dtype_kind::bfloat16;
  other[2].shard.global_shape = {16};
  other[2].shard.fragmentation = dims{4};
  shards.insert(shards.end(), other.begin(), other.end());
  shards.push_back({7, irregular("c", {10, 10}, {{0, 0}, {10, 6}})});
  shards.push_back({8, irregular("c", {10, 10}, {{0, 5}, {5, 5}})});
  std::vector<detail::gathered_object> objects{{0, {"o", {2}, {0}}}, {3, {"o", {2}, {0}}}};
  objects.push_back({4, {"b", {}, {}}});
  const std::string text = problems(shards, objects);
  CHECK(
      text ==
      "the sharding has 9 problems:\n"
      "  \"a\": dtype is float32 of 4 bytes on processes 0 and 2, bfloat16 of 2 bytes on process "
      "1\n"
      "  \"a\": global shape is [12] on processes 0 and 1, [16] on process 2\n"
      "  \"a\": fragmentation is [3] on processes 0 and 1, [4] on process 2\n"
      "  \"b\": 1 of 4 shards have no main replica: [8:12]\n"
      "  \"b\": is both a tensor and an object\n"
      "  \"c\": 1 of 6 parts between the boundaries of shards have no main replica: [5:10, 6:10]\n"
      "  \"c\": shards overlap: [0:10, 0:6] on process 7 and [0:5, 5:10] on process 8\n"
      "  \"o\": object o/shard_0_2 is the main replica on processes 0 and 3\n"
      "  \"o\": 1 of 2 objects have no main replica: o/shard_1_2");
}

TEST_CASE("golden rows 29 to 31: a hole, two main replicas, kinds that differ, odd offsets") {
  std::vector<test_support::gathered_shard> shards = row(2);
  CHECK(problems(shards).empty());
  shards[1].shard.replica = 1;
  has(problems(shards), "1 of 2 shards have no main replica: [4:8]");
  shards[1].shard.replica = 0;
  shards[1].shard.global_offset = {0};
  has(problems(shards), "shard [0:4] is the main replica 2 times, on processes 0 and 1");
  has(problems(shards), "1 of 2 shards have no main replica: [4:8]");

  const auto differ = [&](auto change) {
    shards = row(2);
    change(shards[1].shard);
    return problems(shards);
  };
  has(differ([](shard_metadata& s) { s.type = dtype_kind::int32; }), "dtype is float32");
  has(differ([](shard_metadata& s) { s.global_shape = {12}, s.fragmentation = dims{3}; }),
      "global shape is [8] on process 0, [12] on process 1");
  has(differ([](shard_metadata& s) { s.local_shape = {2}, s.fragmentation = dims{4}; }),
      "local shape is [4] on process 0, [2] on process 1");
  has(differ([](shard_metadata& s) {
        s.range = flat_range{0, 4};
      }),
      "shards are whole on process 0, flat pieces on process 1");
  has(differ([](shard_metadata& s) { s.fragmentation.reset(); }),
      "grid is regular on process 0, irregular on process 1");
  has(differ([](shard_metadata& s) {
        s.local_shape = {}, s.prepended_axes = 1, s.fragmentation = dims{8};
      }),
      "number of prepended axes is 0 on process 0, 1 on process 1");
  has(differ([](shard_metadata& s) { s.global_offset = {-4}; }), "process 1: shard of \"w\"");
  has(differ([](shard_metadata& s) { s.global_offset = {8}; }), "reach beyond the global extent 8");

  // Two cells without extent: there is nothing to be stored, and nothing is missing.
  shards = row(2);
  for (test_support::gathered_shard& one : shards) {
    one.shard.local_shape = {0};
    one.shard.global_shape = {0};
    one.shard.global_offset = {0};
  }
  CHECK(problems(shards).empty());
}

TEST_CASE("FLT-4: flat pieces that leave gaps in a shard, and shards that are wholly missing") {
  std::vector<test_support::gathered_shard> shards;
  for (int rank = 0; rank < 8; ++rank) {
    shards.push_back({rank, row(6)[static_cast<std::size_t>(rank < 3 ? 0 : rank - 2)].shard});
    shard_metadata& shard = shards.back().shard;
    shard.local_shape = {6};
    shard.global_shape = {36};
    shard.global_offset = {shard.global_offset[0] / 4 * 6};
    const flat_range pieces[] = {{0, 1}, {1, 3}, {3, 6}};
    shard.range = rank < 3 ? pieces[rank] : flat_range{0, 6};
  }
  CHECK(problems(shards).empty());
  const auto without = [&](int rank) {
    std::vector<test_support::gathered_shard> out = shards;
    out.erase(out.begin() + rank);
    return problems(out);
  };
  has(without(0), "elements [0:1] of shard [0:6] are in no flat range");
  has(without(1), "elements [1:3] of shard [0:6] are in no flat range");
  has(without(2), "elements [3:6] of shard [0:6] are in no flat range");
  has(without(4), "1 of 6 shards have no main replica: [12:18]");
}

TEST_CASE("golden row 32: flat ranges that overlap; a shard with no main replica at all") {
  std::vector<test_support::gathered_shard> shards;
  for (int rank = 0; rank < 2; ++rank) {
    shards.push_back({rank, row(1)[0].shard});
    shards.back().shard.local_shape = {6};
    shards.back().shard.global_shape = {6};
    shards.back().shard.range = rank == 0 ? flat_range{0, 4} : flat_range{2, 6};
  }
  has(problems(shards),
      "elements [2:4] of shard [0:6] are in two flat ranges, of processes 0 and 1");
  for (test_support::gathered_shard& one : shards) one.shard.replica = 1;
  has(problems(shards), "no process has a main replica of any element");
}

TEST_CASE("golden row 35: objects that are there twice, or missing, or of another grid") {
  const auto objects = [](const std::vector<index_t>& which, index_t count) {
    std::vector<detail::gathered_object> out;
    for (const index_t one : which)
      out.push_back({static_cast<int>(out.size()), {"o", {count}, {one}}});
    return out;
  };
  CHECK(problems({}, objects({0, 1}, 2)).empty());
  CHECK(problems({}, {{0, {"o", {}, {}}}, {1, {"o", {}, {}}, false}}).empty());
  has(problems({}, objects({0, 1, 0}, 2)),
      "object o/shard_0_2 is the main replica on processes 0 and 2");
  has(problems({}, objects({2, 0}, 3)), "1 of 3 objects have no main replica: o/shard_1_3");
  has(problems({}, objects({3}, INT64_MAX)),
      "objects have no main replica: o/shard_0_9223372036854775807, ");
  has(problems({}, objects({4}, 3)), "process 0: ");
  std::vector<detail::gathered_object> other = objects({0, 1}, 2);
  other[1].id.global_shape = {3};
  has(problems({}, other), "objects are [2] on process 0, something else on process 1");
  other = objects({0, 1}, 2);
  other[0].is_main = false;
  has(problems({}, other), "1 of 2 objects have no main replica: o/shard_0_2");
}

TEST_CASE("random layouts, whole and damaged, are judged as counting each element judges" *
          doctest::skip(zarrpoint_test::is_about_threads)) {
  random_source random(4);
  std::size_t good = 0;
  std::size_t bad = 0;
  for (int round = 0; round < zarrpoint_test::random_rounds(6000); ++round) {
    std::vector<shard_metadata> shards = random_tensor(random, "w");
    const auto any = [&] {
      return static_cast<std::size_t>(pick(random, 0, static_cast<index_t>(shards.size()) - 1));
    };
    const std::size_t victim = any();
    shard_metadata& one = shards[victim];
    const std::size_t rank = one.global_offset.rank();
    switch (pick(random, 0, 6)) {
      case 0: break;
      case 1:
        if (shards.size() > 1) shards.erase(shards.begin() + static_cast<std::ptrdiff_t>(victim));
        break;
      case 2: shards.push_back(shard_metadata(one)); break;
      case 3: one.replica = 1; break;
      case 4:
        if (rank != 0) {
          const std::size_t axis =
              static_cast<std::size_t>(pick(random, 0, static_cast<index_t>(rank) - 1));
          const box part = one.global_box();
          one.global_offset[axis] +=
              (pick(random, 0, 1) == 0 ? -1 : 1) * (one.is_regular() ? part.shape[axis] : 1);
        }
        break;
      case 5:
        if (one.range) one.range->start += pick(random, -1, 1);
        break;
      default: shards.push_back(shards[any()]), shards.back().replica = 2;
    }
    bool sound = true;
    for (const shard_metadata& each : shards) sound = sound && each.check().has_value();
    const std::vector<test_support::gathered_shard> placed = spread(random, shards, 6);
    const bool expected = sound && holds_each_once(placed);
    ++(expected ? good : bad);
    const std::string text = problems(placed);
    CAPTURE(text);
    REQUIRE(text.empty() == expected);
  }
  CHECK(good > zarrpoint_test::random_rounds(500U));
  CHECK(bad > zarrpoint_test::random_rounds(500U));
}

TEST_CASE("what processes lie in their messages does no harm; what passes can be planned" *
          doctest::skip(zarrpoint_test::is_about_threads)) {
  random_source random(61);
  std::size_t refused = 0;
  std::size_t passed = 0;
  for (int round = 0; round < zarrpoint_test::random_rounds(6000); ++round) {
    std::vector<shard_metadata> shards = random_tensor(random, "w");
    for (shard_metadata& one : shards) one.replica = {0, 0};
    std::vector<std::byte> message = detail::encode_shards(shards).value();
    for (index_t flips = pick(random, 0, 3); flips > 0; --flips)
      message[static_cast<std::size_t>(
          pick(random, 0, static_cast<index_t>(message.size()) - 1))] ^=
          static_cast<std::byte>(1U << static_cast<unsigned>(pick(random, 0, 7)));
    detail::shard_table table;
    if (!detail::decode_shards(message, 0, table)) continue;
    const auto status = detail::validate_sharding(table);
    const auto chosen = detail::distribute(table, {});
    REQUIRE(chosen);
    const auto plan = detail::plan_save(table, detail::main_shards(table), {.max_cells = 100000});
    const auto other = detail::plan_save(table, *chosen, {.max_cells = 100000});
    if (status) {
      ++passed;
      REQUIRE((plan || plan.failure().code == errc::resource_limit));
      REQUIRE(other.has_value() == plan.has_value());
    } else {
      ++refused;
      REQUIRE(status.failure().message.size() < 20000);
    }
  }
  CHECK(refused > zarrpoint_test::random_rounds(500U));
  CHECK(passed > zarrpoint_test::random_rounds(500U));
}

TEST_CASE("messages stay short, however much is wrong; all boxes may overlap") {
  std::vector<test_support::gathered_shard> shards;
  for (int i = 0; i < 3000; ++i) {
    shard_metadata one = row(1)[0].shard;
    one.key = "k" + std::to_string(i % 100);
    one.type = dtype::raw_bytes(static_cast<std::size_t>(1 + i));
    one.global_offset = {i % 7};
    shards.push_back({i, one});
  }
  const std::string text = problems(shards);
  CHECK(text.size() < 16000);
  has(text, " more");
  shards.clear();
  // All of them overlap, at places that are all different.
  for (index_t i = 0; i < 3000; ++i)
    shards.push_back({static_cast<int>(i),
                      irregular("x", {9000, 9000}, {{i, 3000 - i}, {3000 + i % 5, 3000 + i % 3}})});
  const std::string overlaps = problems(shards);
  has(overlaps, "shards overlap");
  CHECK(overlaps.size() < 2000);
  shards.clear();
  for (index_t i = 0; i < 3000; ++i)  // a diagonal: too many crossings to name the holes
    shards.push_back({0, irregular("x", {9000, 9000}, {{3 * i, 3 * i}, {1, 2}})});
  has(problems(shards), "80994000 of 81000000 elements are in no shard");
}

}  // namespace validate_sharding_test
