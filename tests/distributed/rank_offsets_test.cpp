// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/shard/shard_metadata.hpp>

#include <doctest/doctest.h>

#include <limits>

namespace rank_offsets_test {

namespace {

using namespace zarrpoint;

constexpr index_t largest = std::numeric_limits<index_t>::max();

tensor_spec f32(dims shape) { return {dtype_kind::float32, shape}; }

shard_metadata shard_of(dims local, sharding where) {
  return from_rank_offsets("k", f32(local), where).value();
}

error refused(dims local, sharding where) {
  const auto made = from_rank_offsets("k", f32(local), where);
  REQUIRE_FALSE(made);
  CHECK(made.failure().message.find("\"k\"") != std::string::npos);
  return made.failure();
}

error refused_flat(const tensor_spec& data, const flat_shard& flat) {
  const auto made = from_rank_offsets_flat("k", data, flat, {});
  REQUIRE_FALSE(made);
  return made.failure();
}

}  // namespace

TEST_CASE("MAP-1: a shard told by rank offsets") {
  const shard_metadata made =
      from_rank_offsets("k", {dtype_kind::bfloat16, {1, 3, 7, 9}},
                        {.offsets = {{0, 0, 10}, {2, 3, 6}}, .replica = {0, 2}})
          .value();
  CHECK(made.key == "k");
  CHECK(made.type == dtype_kind::bfloat16);
  CHECK(made.local_shape == dims{1, 3, 7, 9});
  CHECK(made.global_shape == dims{10, 3, 42, 9});
  CHECK(made.global_offset == dims{0, 0, 21, 0});
  CHECK(made.fragmentation == dims{10, 1, 6, 1});
  CHECK(made.replica == replica_id{0, 2});
  CHECK_FALSE(made.replica.is_main());
  CHECK(made.is_regular());
  CHECK_FALSE(made.range);
}

TEST_CASE("MAP-2: flattening leaves the metadata of the shard as they are") {
  const sharding where{.offsets = {{1, 0, 2}, {2, 3, 5}}};
  const shard_metadata made =
      from_rank_offsets_flat("k", {dtype_kind::int64, {5}}, {{1, 4, 7}, {4, 9}}, where).value();
  CHECK(made.local_shape == dims{1, 4, 7});
  CHECK(made.global_shape == dims{1, 8, 35});
  CHECK(made.global_offset == dims{0, 0, 21});
  CHECK(made.range == flat_range{4, 9});
  CHECK(made.data_shape() == dims{5});
  shard_metadata whole = made;
  whole.range.reset();
  CHECK(whole == from_rank_offsets("k", {dtype_kind::int64, {1, 4, 7}}, where).value());
}

TEST_CASE("golden rows 1, 3, 4 and 5: prepended axes and empty shards") {
  const shard_metadata layers =
      shard_of({4, 5}, {.offsets = {{0, 2, 6}, {1, 1, 3}, {2, 0, 2}}, .prepended_axes = 1});
  CHECK(layers.global_shape == dims{6, 12, 10});
  CHECK(layers.global_offset == dims{2, 4, 0});
  CHECK(layers.fragmentation == dims{6, 3, 2});

  const shard_metadata experts =
      shard_of({4, 5}, {.offsets = {{0, 47, 48}, {1, 127, 128}, {3, 1, 2}}, .prepended_axes = 2});
  CHECK(experts.global_shape == dims{48, 128, 4, 10});
  CHECK(experts.global_offset == dims{47, 127, 0, 5});
  CHECK(experts.fragmentation == dims{48, 128, 1, 2});

  const shard_metadata scalars = shard_of({}, {.offsets = {{0, 3, 4}}, .prepended_axes = 1});
  CHECK(scalars.local_shape == dims{});
  CHECK(scalars.global_shape == dims{4});
  CHECK(scalars.global_offset == dims{3});
  CHECK(scalars.fragmentation == dims{4});

  const shard_metadata empty = shard_of({0, 3}, {.offsets = {{0, 1, 2}}});
  CHECK(empty.global_shape == dims{0, 3});
  CHECK(empty.global_offset == dims{0, 0});
  CHECK(empty.fragmentation == dims{2, 1});
}

TEST_CASE("golden row 11: a flat piece of a layer") {
  const shard_metadata made =
      from_rank_offsets_flat("k", f32({4}), {{2, 6}, {5, 9}},
                             {.offsets = {{0, 3, 4}, {1, 1, 2}}, .prepended_axes = 1})
          .value();
  CHECK(made.global_shape == dims{4, 4, 6});
  CHECK(made.global_offset == dims{3, 2, 0});
  // An empty piece is one too: not every process has a part of every shard.
  CHECK(from_rank_offsets_flat("k", f32({0}), {{2, 6}, {12, 12}}, {}).value().range->size() == 0);
}

TEST_CASE("MAP-8, golden rows 6 to 8: rank offsets that make no sense") {
  CHECK(refused({4}, {.offsets = {{0, 1, 2}, {0, 3, 4}}}).code == errc::invalid_argument);
  CHECK(refused({4}, {.offsets = {{0, 1, 2}, {0, 3, 4}}}).message ==
        "shard of \"k\": rank offset (0, 3, 4): this axis was named before");
  CHECK(refused({4}, {.offsets = {{0, 2, 2}}}).message ==
        "shard of \"k\": rank offset (0, 2, 2): the position is not in [0, count)");
  CHECK(refused({4}, {.offsets = {{0, 2, 2}}}).code == errc::invalid_argument);
  CHECK(refused({4}, {.offsets = {{0, -1, 2}}}).code == errc::invalid_argument);
  CHECK(refused({4}, {.offsets = {{0, 0, 0}}}).code == errc::invalid_argument);
  CHECK(refused({4}, {.offsets = {{0, 0, -2}}}).code == errc::invalid_argument);
  CHECK(refused({4}, {.offsets = {{1, 0, 1}}}).code == errc::out_of_range);
  CHECK(refused({4}, {.offsets = {{SIZE_MAX, 0, 1}}}).code == errc::out_of_range);
  CHECK(refused({}, {.offsets = {{0, 0, 1}}}).code == errc::out_of_range);
  // Prepended, and beyond what is prepended.
  CHECK(refused({}, {.offsets = {{0, 4, 4}}, .prepended_axes = 1}).code == errc::invalid_argument);
  CHECK(refused({}, {.offsets = {{1, 0, 4}}, .prepended_axes = 1}).code == errc::out_of_range);
}

TEST_CASE("MAP-8: sizes that overflow") {
  CHECK(refused({2}, {.offsets = {{0, 0, largest}}}).code == errc::out_of_range);
  CHECK(refused({1, 1}, {.offsets = {{0, 0, largest}, {1, 0, 2}}}).code == errc::out_of_range);
  CHECK(refused({largest}, {}).code == errc::out_of_range);  // in bytes
  CHECK(refused({-1}, {}).code == errc::invalid_argument);
  CHECK(refused({-1}, {.offsets = {{0, 1, 2}}}).code == errc::invalid_argument);
  CHECK(refused({1}, {.prepended_axes = max_rank}).code == errc::invalid_argument);
  CHECK(refused({1}, {.prepended_axes = SIZE_MAX}).code == errc::invalid_argument);
  CHECK(shard_of({1}, {.prepended_axes = max_rank - 1}).global_shape.rank() == max_rank);
  CHECK_FALSE(from_rank_offsets("", f32({1}), {}));
  CHECK_FALSE(from_rank_offsets("k", {{}, {1}}, {}));
}

TEST_CASE("MAP-3, MAP-8, golden rows 15 to 17: flat pieces that do not fit") {
  CHECK(refused_flat(f32({4}), {{6}, {4, 8}}).code == errc::out_of_range);
  CHECK(refused_flat(f32({3}), {{6}, {0, 4}}).code == errc::shape_mismatch);
  CHECK(refused_flat(f32({1}), {{}, {0, 1}}).code == errc::invalid_argument);
  // The data of a flat piece are of one dimension.
  CHECK(refused_flat(f32({1, 4, 7, 1}), {{4, 7}, {0, 28}}).code == errc::shape_mismatch);
  CHECK(refused_flat(f32({}), {{4, 7}, {0, 1}}).code == errc::shape_mismatch);
  CHECK(refused_flat(f32({2}), {{6}, {-2, 0}}).code == errc::out_of_range);
  CHECK(refused_flat(f32({2}), {{6}, {4, 2}}).code == errc::out_of_range);
  CHECK(refused_flat(f32({2}), {{6}, {-largest, largest}}).code == errc::out_of_range);
}

}  // namespace rank_offsets_test
