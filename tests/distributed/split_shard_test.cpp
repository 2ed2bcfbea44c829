// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/shard/narrow.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace split_shard_test {

using namespace zarrpoint;
using parts = std::vector<std::optional<narrowed>>;

shard_metadata fused(const dims& local, const sharding& where,
                     std::optional<flat_range> range = {}) {
  shard_metadata out = from_rank_offsets("mlp.fc1", {dtype_kind::float32, local}, where).value();
  out.range = range;
  return out;
}

TEST_CASE("golden 20: the parts of all processes come first in the global tensor, one by one") {
  const shard_metadata whole = fused({4, 3}, {.offsets = {{0, 1, 2}}, .replica = {0, 1}});
  const parts split = detail::split_shard(whole, {}).value();
  REQUIRE(split.size() == 2);
  for (const std::optional<narrowed>& part : split) {
    CHECK(part->shard.check());
    CHECK(part->shard.key == "mlp.fc1");
    CHECK(part->shard.local_shape == dims{2, 3});
    CHECK(part->shard.global_shape == dims{8, 3});
    CHECK(*part->shard.fragmentation == dims{4, 1});
    CHECK(part->shard.replica == replica_id{0, 1});
  }
  CHECK(split[0]->shard.global_offset == dims{2, 0});
  CHECK(split[1]->shard.global_offset == dims{6, 0});
  CHECK(split[0]->part == box{{0, 0}, {2, 3}});
  CHECK(split[1]->part == box{{2, 0}, {2, 3}});
}

TEST_CASE("golden 21, 22: a flat range is divided where the parts meet") {
  const auto ranges = [](const dims& local, const sharding& where, flat_range range) {
    std::string text;
    for (const std::optional<narrowed>& part :
         detail::split_shard(fused(local, where, range), {}).value())
      text += part
                  ? to_string(*part->shard.range) + "@" + std::to_string(part->part.offset[0]) + " "
                  : "- ";
    return text;
  };
  const sharding second{.offsets = {{0, 1, 2}}};
  CHECK(ranges({4, 3}, second, {2, 9}) == "[2:6]@0 [0:3]@4 ");
  CHECK(ranges({4, 3}, second, {7, 9}) == "- [1:3]@0 ");
  CHECK(ranges({4, 3}, second, {0, 6}) == "[0:6]@0 - ");
  CHECK(ranges({4, 3}, second, {5, 5}) == "- - ");
  CHECK(ranges({16, 5}, {}, {8, 64}) == "[8:40]@0 [0:24]@32 ");
}

TEST_CASE("prepended axes, other axes, more parts and irregular shards split too") {
  const sharding layers{.offsets = {{0, 2, 6}, {2, 1, 3}}, .prepended_axes = 1};
  const parts split = detail::split_shard(fused({4, 6}, layers), {.axis = 1, .parts = 3}).value();
  REQUIRE(split.size() == 3);
  for (index_t i = 0; i < 3; ++i) {
    const narrowed& part = *split[static_cast<std::size_t>(i)];
    CHECK(part.shard.check());
    CHECK(part.shard.global_shape == dims{6, 4, 18});
    CHECK(part.shard.global_offset == dims{2, 0, 2 + 6 * i});
    CHECK(*part.shard.fragmentation == dims{6, 1, 9});
    CHECK(part.part == box{{0, 2 * i}, {4, 2}});
  }

  shard_metadata irregular = fused({6}, {});
  irregular.fragmentation.reset();
  irregular.global_shape = {10};
  irregular.global_offset = {4};
  const parts uneven = detail::split_shard(irregular, {}).value();
  CHECK(uneven[0]->shard.global_offset == dims{2});
  CHECK(uneven[1]->shard.global_offset == dims{7});
  CHECK(uneven[1]->shard.check());

  const parts empty = detail::split_shard(fused({0, 3}, {}), {}).value();
  CHECK(empty[1]->shard.check());
  CHECK(empty[1]->shard.local_shape == dims{0, 3});
}

TEST_CASE("what cannot be split is refused") {
  const auto code = [](const shard_metadata& whole, const detail::split_axis& how) {
    return detail::split_shard(whole, how).failure().code;
  };
  CHECK(code(fused({3}, {}), {}) == errc::invalid_argument);
  CHECK(code(fused({4}, {}), {.axis = 1}) == errc::invalid_argument);
  CHECK(code(fused({}, {}), {}) == errc::invalid_argument);
  CHECK(code(fused({4}, {}), {.parts = 0}) == errc::invalid_argument);
  CHECK(code(fused({4}, {}), {.parts = 4000000000}) == errc::invalid_argument);
  CHECK(code(fused({4, 2}, {}, flat_range{0, 3}), {.axis = 1}) == errc::unsupported);
  CHECK(detail::split_shard(fused({1, 2}, {}, flat_range{0, 2}), {.axis = 1}));
  CHECK(code(fused({4, 2}, {}, flat_range{0, 9}), {}) == errc::out_of_range);
  shard_metadata many = fused({0}, {});
  (*many.fragmentation)[0] = std::numeric_limits<index_t>::max();
  CHECK(code(many, {}) == errc::out_of_range);
  shard_metadata irregular = fused({4}, {});
  irregular.fragmentation.reset();
  irregular.global_shape = {9};
  CHECK(code(irregular, {}) == errc::invalid_argument);
}

}  // namespace split_shard_test
