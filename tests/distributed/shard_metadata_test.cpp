// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/shard/shard_metadata.hpp>

#include "support/random_rounds.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>

namespace shard_metadata_test {

namespace {

using namespace zarrpoint;

constexpr index_t largest = std::numeric_limits<index_t>::max();

tensor_spec f32(dims shape) { return {dtype_kind::float32, shape}; }

/// Scenario MAP-1's.
shard_metadata tile() {
  return from_rank_offsets("w", f32({1, 3, 7, 9}), {.offsets = {{0, 0, 10}, {2, 3, 6}}}).value();
}

/// One of the layers of a stack.
shard_metadata layer() {
  const sharding where{.offsets = {{0, 2, 6}, {1, 1, 3}}, .prepended_axes = 1};
  return from_rank_offsets("w", f32({4, 5}), where).value();
}

/// Scenario MAP-2's.
shard_metadata piece() {
  const sharding where{.offsets = {{1, 0, 2}, {2, 3, 5}}};
  return from_rank_offsets_flat("w", f32({5}), {{1, 4, 7}, {4, 9}}, where).value();
}

error refused(const shard_metadata& shard) {
  const auto checked = shard.check();
  REQUIRE_FALSE(checked);
  if (!shard.key.empty()) CHECK(checked.failure().message.find("\"w\"") != std::string::npos);
  return checked.failure();
}

/// The error of `shard` after `edit`.
template <class F>
errc broken(shard_metadata shard, F&& edit) {
  REQUIRE(shard.check());
  edit(shard);
  return refused(shard).code;
}

}  // namespace

TEST_CASE("what is known of a shard") {
  CHECK(layer().data_spec() == f32({4, 5}));
  CHECK(layer().global_box() == box{{2, 4, 0}, {1, 4, 5}});
  CHECK(layer().is_regular());
  CHECK(piece().data_shape() == dims{5});
  CHECK(piece().global_box() == box{{0, 0, 21}, {1, 4, 7}});
  CHECK(to_string(*piece().range) == "[4:9]");
  shard_metadata irregular = tile();
  irregular.fragmentation.reset();
  CHECK_FALSE(irregular.is_regular());
  CHECK(irregular.check());
}

TEST_CASE("MAP-3: what does not fit, in the metadata and between them and the value") {
  CHECK(tile().check_value(f32({1, 3, 7, 9})));
  CHECK(tile().check_value(f32({1, 2, 7, 9})).failure().code == errc::shape_mismatch);
  CHECK(tile().check_value({dtype_kind::float64, {1, 3, 7, 9}}).failure().code ==
        errc::dtype_mismatch);
  shard_metadata narrower = tile();
  narrower.local_shape = {1, 2, 7, 9};
  CHECK(narrower.check_value(f32({1, 3, 7, 9})).failure().message ==
        "shard of \"w\": the value has shape [1, 3, 7, 9], wanted [1, 2, 7, 9]");
  CHECK(broken(tile(), [](auto& shard) {
          shard.global_offset = {0, 1, 0};
        }) == errc::invalid_argument);

  CHECK(piece().check_value(f32({5})));
  CHECK(piece().check_value(f32({1, 1, 5})).failure().code == errc::shape_mismatch);
  CHECK(piece().check_value(f32({1, 4, 7})).failure().code == errc::shape_mismatch);
  CHECK(piece().check_value(f32({6})).failure().code == errc::shape_mismatch);
  CHECK(piece().check_value({dtype_kind::int8, {5}}).failure().code == errc::dtype_mismatch);
  CHECK(broken(piece(), [](auto& shard) { shard.local_shape = {5}; }) == errc::invalid_argument);
}

TEST_CASE("golden row 18: an offset that is not a multiple, but where the grid is irregular") {
  shard_metadata shard{.key = "w"};
  shard.type = dtype_kind::float32;
  shard.local_shape = {4};
  shard.global_shape = {8};
  shard.global_offset = {3};
  CHECK(shard.check());
  shard.fragmentation = dims{2};
  CHECK(refused(shard).code == errc::invalid_argument);
  CHECK(refused(shard).message ==
        "shard of \"w\": axis 0: global offset 3 is not divisible by the local extent 4");
}

TEST_CASE("an empty shard stands anywhere, its end included") {
  shard_metadata shard{.key = "w"};
  shard.type = dtype_kind::float32;
  shard.local_shape = {0};
  shard.global_shape = {8};
  for (const index_t offset : {0, 3, 8}) {
    shard.global_offset = {offset};
    CHECK(shard.check());
  }
  shard.global_offset = {9};
  CHECK(refused(shard).code == errc::out_of_range);
}

TEST_CASE("MAP-8: ranks, bounds and fragments that make no sense") {
  using shard_ref = shard_metadata&;
  CHECK(broken(tile(), [](shard_ref s) { s.key.clear(); }) == errc::invalid_argument);
  CHECK(broken(tile(), [](shard_ref s) { s.type = {}; }) == errc::invalid_argument);
  CHECK(broken(tile(), [](shard_ref s) { s.local_shape = {1, 3, 7}; }) == errc::invalid_argument);
  CHECK(broken(tile(), [](shard_ref s) { s.global_shape = {}; }) == errc::invalid_argument);
  CHECK(broken(tile(), [](shard_ref s) {
          s.fragmentation = dims{10, 1, 6};
        }) == errc::invalid_argument);
  // offset + local > global, and where the sum overflows
  CHECK(broken(tile(), [](shard_ref s) { s.global_offset[0] = 10; }) == errc::out_of_range);
  CHECK(broken(tile(), [](shard_ref s) { s.global_offset[2] = 42; }) == errc::out_of_range);
  CHECK(broken(tile(), [](shard_ref s) { s.global_offset[1] = largest; }) == errc::out_of_range);
  CHECK(broken(tile(), [](shard_ref s) { s.local_shape[1] = largest; }) == errc::out_of_range);
  // below 0: -7 would be divisible
  CHECK(broken(tile(), [](shard_ref s) { s.global_offset[2] = -7; }) == errc::invalid_argument);
  CHECK(broken(tile(), [](shard_ref s) { s.global_shape[0] = -10; }) == errc::invalid_argument);
  CHECK(broken(tile(), [](shard_ref s) { s.local_shape[0] = -1; }) == errc::invalid_argument);
  // fragments * local != global
  CHECK(broken(tile(), [](shard_ref s) { (*s.fragmentation)[0] = 9; }) == errc::invalid_argument);
  CHECK(broken(tile(), [](shard_ref s) { (*s.fragmentation)[0] = 0; }) == errc::invalid_argument);
  CHECK(broken(tile(), [](shard_ref s) { (*s.fragmentation)[2] = largest; }) ==
        errc::invalid_argument);
  CHECK(broken(tile(), [](shard_ref s) { s.global_shape[0] = 11; }) == errc::invalid_argument);
  // the prepended axes
  CHECK(broken(layer(), [](shard_ref s) { s.global_offset[0] = 6; }) == errc::out_of_range);
  CHECK(broken(layer(), [](shard_ref s) { s.global_offset[0] = -1; }) == errc::invalid_argument);
  CHECK(broken(layer(), [](shard_ref s) { (*s.fragmentation)[0] = 3; }) == errc::invalid_argument);
  CHECK(broken(layer(), [](shard_ref s) { s.prepended_axes = 0; }) == errc::invalid_argument);
  CHECK(broken(layer(), [](shard_ref s) { s.prepended_axes = 4; }) == errc::invalid_argument);
  CHECK(broken(layer(), [](shard_ref s) { s.prepended_axes = SIZE_MAX; }) ==
        errc::invalid_argument);
  // SIZE_MAX + 1 is 0: the rank of a global tensor of none
  shard_metadata wraps{.key = "w", .type = dtype_kind::int8, .local_shape = {1}};
  wraps.prepended_axes = SIZE_MAX;
  CHECK(refused(wraps).code == errc::invalid_argument);
}

TEST_CASE("MAP-8: flat ranges that leave their shard, and sizes beyond memory") {
  using shard_ref = shard_metadata&;
  for (const flat_range range :
       {flat_range{4, 29}, flat_range{-1, 3}, flat_range{9, 4}, flat_range{-largest - 1, largest},
        flat_range{29, 29}, flat_range{largest, -largest - 1}}) {
    CAPTURE(to_string(range));
    CHECK(broken(piece(), [&](shard_ref s) { s.range = range; }) == errc::out_of_range);
  }
  for (const flat_range range : {flat_range{0, 28}, flat_range{28, 28}, flat_range{0, 0}}) {
    shard_metadata shard = piece();
    shard.range = range;
    CHECK(shard.check());
  }
  CHECK(broken(tile(), [](shard_ref s) {
          s.fragmentation.reset();
          s.global_shape[0] = largest;
        }) == errc::out_of_range);
  // Row 17: there is nothing to divide in one element.
  shard_metadata scalar{.key = "w", .type = dtype_kind::int8};
  CHECK(scalar.check());
  CHECK(broken(scalar, [](shard_ref s) { s.range = flat_range{0, 1}; }) == errc::invalid_argument);
}

TEST_CASE("whatever numbers a shard is told with, what passes has its elements in its tensor") {
  std::mt19937_64 random(11);
  const std::vector<index_t> odd = {-1, 0, 1, 2, 3, 4, 6, 8, largest, largest / 2, -largest - 1};
  const auto any = [&] { return odd[random() % odd.size()]; };
  int passed = 0;
  for (int round = 0; round < zarrpoint_test::random_rounds(20000); ++round) {
    shard_metadata shard{.key = "w", .type = dtype_kind::int16};
    for (std::size_t i = 0, n = random() % 3; i < n; ++i) shard.global_shape.push_back(any());
    const std::size_t rank = shard.global_shape.rank();
    for (std::size_t i = 0; i < rank; ++i) shard.global_offset.push_back(any());
    shard.prepended_axes = random() % 2;
    for (std::size_t i = shard.prepended_axes; i < rank; ++i) shard.local_shape.push_back(any());
    if (random() % 2 == 0) {
      shard.fragmentation = dims{};
      for (std::size_t i = 0; i < rank; ++i) shard.fragmentation->push_back(any());
    }
    if (random() % 2 == 0) shard.range = flat_range{any(), any()};
    if (!shard.check()) continue;
    ++passed;
    CHECK(selection(shard.global_box()).check(shard.global_shape));
    const index_t volume = element_count(shard.local_shape).value();
    CHECK(element_count(shard.data_shape()).value() <= volume);
  }
  CHECK(passed > zarrpoint_test::random_rounds(100));
}

}  // namespace shard_metadata_test
