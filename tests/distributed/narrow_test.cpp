// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/shard/narrow.hpp>
#include <zarrpoint/distributed/shard/shard_geometry.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include "support/random_rounds.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace narrow_test {

namespace {

using namespace zarrpoint;

tensor_spec f32(dims shape) { return {dtype_kind::float32, shape}; }

shard_metadata tile() {
  return from_rank_offsets("w", f32({1, 3, 7, 9}), {.offsets = {{0, 0, 10}, {2, 3, 6}}}).value();
}

shard_metadata layer() {
  const sharding where{.offsets = {{0, 2, 6}, {1, 1, 3}, {2, 0, 2}}, .prepended_axes = 1};
  return from_rank_offsets("w", f32({4, 5}), where).value();
}

shard_metadata piece(flat_range range) {
  return from_rank_offsets_flat("w", f32({range.size()}), {{4, 7}, range},
                                {.offsets = {{0, 1, 2}, {1, 3, 5}}})
      .value();
}

narrowed cut(const shard_metadata& shard, axis_range to) {
  const auto made = narrow(shard, to).value();
  REQUIRE(made.has_value());
  CHECK(made->shard.check());
  CHECK(made->shard.fragmentation == shard.fragmentation);
  return *made;
}

errc refused(const shard_metadata& shard, axis_range to) {
  const auto made = narrow(shard, to);
  REQUIRE_FALSE(made);
  return made.failure().code;
}

using numbers = std::vector<index_t>;

/// The lists of a line of `golden/megatron-mapping/shards.txt`, whose order its PROVENANCE.md says.
std::vector<numbers> lists_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<numbers> out;
  for (std::size_t length = 0; in >> length;) {
    REQUIRE(length < 10000);
    out.emplace_back(length);
    for (index_t& number : out.back()) in >> number;
  }
  REQUIRE(out.size() == 18);
  return out;
}

shard_metadata described(const std::vector<numbers>& theirs) {
  const flat_range range{theirs[0][1], theirs[0][2]};
  const dims local{std::span<const index_t>(theirs[1])};
  sharding where{.prepended_axes = static_cast<std::size_t>(theirs[0][0])};
  for (std::size_t i = 0; i < theirs[2].size(); i += 3)
    where.offsets.push_back(
        {static_cast<std::size_t>(theirs[2][i]), theirs[2][i + 1], theirs[2][i + 2]});
  if (range.start < 0) return from_rank_offsets("w", f32(local), where).value();
  return from_rank_offsets_flat("w", f32({range.size()}), {local, range}, where).value();
}

numbers joined(const std::vector<numbers>& lists) {
  numbers out;
  for (const numbers& list : lists) out.insert(out.end(), list.begin(), list.end());
  return out;
}

numbers as_numbers(const dims& values) { return {values.begin(), values.end()}; }

/// The elements that a part of the local tensor holds: their numbers in the shard.
numbers elements_of(const shard_metadata& shard, const box& part) {
  numbers out;
  const dims strides = row_major_strides(shard.data_shape(), 1);
  const dims inner = row_major_strides(part.shape, 1);
  for (index_t i = 0; i < element_count(part.shape).value(); ++i) {
    index_t at = shard.range ? shard.range->start : 0;
    for (std::size_t axis = 0; axis < part.rank(); ++axis)
      at += (part.offset[axis] + i / inner[axis] % part.shape[axis]) * strides[axis];
    out.push_back(at);
  }
  return out;
}

/// The same of a value that has the numbers of its elements.
numbers narrowed_values(const shard_metadata& shard, const axis_range& to) {
  const index_t first = shard.range ? shard.range->start : 0;
  std::vector<float> values(static_cast<std::size_t>(element_count(shard.data_shape()).value()));
  std::iota(values.begin(), values.end(), static_cast<float>(first));
  const auto made = narrow(sharded<std::vector<float>>::borrow(shard, values).value(), to).value();
  const host_view left = made->value().elements().value();
  std::vector<float> found(static_cast<std::size_t>(element_count(left.shape).value()));
  copy_elements(dense_view(reinterpret_cast<std::byte*>(found.data()), left.spec()), left);
  return {found.begin(), found.end()};
}

}  // namespace

TEST_CASE("shards are what Megatron-Core says they are, whole, flat and narrowed") {
  std::ifstream file(ZARRPOINT_TEST_GOLDEN "/megatron-mapping/shards.txt");
  int read = 0;
  for (std::string line; std::getline(file, line); ++read) {
    CAPTURE(line);
    const std::vector<numbers> theirs = lists_of(line);
    const shard_metadata shard = described(theirs);
    CHECK(as_numbers(shard.global_shape) == theirs[3]);
    CHECK(as_numbers(shard.global_offset) == theirs[4]);
    CHECK(as_numbers(shard.fragmentation.value()) == theirs[5]);
    numbers slice;
    for (const slice_part& part : global_slice(shard).value())
      slice.insert(slice.end(), {part.offset, part.extent, part.is_index ? 1 : 0});
    CHECK(slice == theirs[6]);
    CHECK(as_numbers(chunk_offset_in_global(shard).value()) == theirs[7]);
    CHECK(as_numbers(max_allowed_chunks(shard).value()) == theirs[8]);
    if (shard.range) {
      CHECK(joined(local_coordinates(shard).value()) == theirs[9]);
      CHECK(joined(global_coordinates(shard).value()) == theirs[10]);
    }
    const axis_range to{static_cast<std::size_t>(theirs[11][0]), theirs[11][1], theirs[11][2]};
    const auto made = narrow(shard, to).value();
    REQUIRE(made.has_value() == (theirs[12][0] == 1));
    if (!made) continue;
    CHECK(as_numbers(made->shard.local_shape) == theirs[13]);
    CHECK(as_numbers(made->shard.global_shape) == theirs[14]);
    CHECK(as_numbers(made->shard.global_offset) == theirs[15]);
    const auto range = made->shard.range;
    CHECK((range ? numbers{range->start, range->stop} : numbers{}) == theirs[16]);
    CHECK(elements_of(shard, made->part) == theirs[17]);
    CHECK(narrowed_values(shard, to) == theirs[17]);
  }
  CHECK(read == 400);
}

TEST_CASE("MAP-4: shards of a tensor are narrowed, and it with them") {
  const narrowed second = cut(tile(), {1, 1, 2});
  CHECK(second.shard.local_shape == dims{1, 2, 7, 9});
  CHECK(second.shard.global_shape == dims{10, 2, 42, 9});
  CHECK(second.shard.global_offset == dims{0, 0, 21, 0});
  CHECK(second.part == box{{0, 1, 0, 0}, {1, 2, 7, 9}});

  const narrowed third = cut(tile(), {2, 3, 2});
  CHECK(third.shard.local_shape == dims{1, 3, 2, 9});
  CHECK(third.shard.global_shape == dims{10, 3, 12, 9});
  CHECK(third.shard.global_offset == dims{0, 0, 6, 0});
  CHECK(third.part == box{{0, 0, 3, 0}, {1, 3, 2, 9}});
}

TEST_CASE("golden rows 9 and 10: prepended axes stay as they are") {
  const narrowed rows = cut(layer(), {0, 1, 2});
  CHECK(rows.shard.local_shape == dims{2, 5});
  CHECK(rows.shard.global_shape == dims{6, 6, 10});
  CHECK(rows.shard.global_offset == dims{2, 2, 0});
  CHECK(rows.part == box{{1, 0}, {2, 5}});

  const narrowed columns = cut(layer(), {1, 2, 3});
  CHECK(columns.shard.local_shape == dims{4, 3});
  CHECK(columns.shard.global_shape == dims{6, 12, 6});
  CHECK(columns.shard.global_offset == dims{2, 4, 0});
  CHECK(columns.part == box{{0, 2}, {4, 3}});
}

TEST_CASE("MAP-5: a flat range is narrowed to what lies in the part") {
  const shard_metadata shard = piece({4, 9});
  const narrowed one = cut(shard, {0, 0, 1});
  CHECK(one.part == box{{0}, {3}});  // of the data 4..8
  CHECK(one.shard.range == flat_range{4, 7});
  CHECK(one.shard.local_shape == dims{1, 7});
  CHECK(one.shard.global_shape == dims{2, 35});
  CHECK(one.shard.global_offset == dims{1, 21});

  const narrowed three = cut(shard, {0, 0, 3});
  CHECK(three.part == box{{0}, {5}});
  CHECK(three.shard.range == flat_range{4, 9});
  CHECK(three.shard.local_shape == dims{3, 7});
  CHECK(three.shard.global_shape == dims{6, 35});
  CHECK(three.shard.global_offset == dims{3, 21});

  CHECK_FALSE(narrow(shard, {0, 2, 1}).value().has_value());
  CHECK_FALSE(narrow(piece({7, 7}), {0, 1, 1}).value().has_value());
  CHECK(cut(piece({9, 9}), {0, 1, 1}).shard.range == flat_range{2, 2});  // empty, but inside
  CHECK_FALSE(narrow(shard, {0, 0, 0}).value().has_value());
}

TEST_CASE("golden row 14: a flat piece of a layer") {
  const shard_metadata shard =
      from_rank_offsets_flat("w", f32({4}), {{2, 6}, {5, 9}},
                             {.offsets = {{0, 3, 4}, {1, 1, 2}}, .prepended_axes = 1})
          .value();
  const narrowed first = cut(shard, {0, 0, 1});
  CHECK(first.shard.range == flat_range{5, 6});
  CHECK(first.part == box{{0}, {1}});
  const narrowed second = cut(shard, {0, 1, 1});
  CHECK(second.shard.range == flat_range{0, 3});
  CHECK(second.part == box{{1}, {3}});
  for (const narrowed& each : {first, second}) {
    CHECK(each.shard.global_shape == dims{4, 2, 6});
    CHECK(each.shard.global_offset == dims{3, 1, 0});
  }
}

TEST_CASE("parts and shards that cannot be narrowed are refused") {
  // Real Megatron accepts the first, and gives a shard larger than it was.
  CHECK(refused(piece({21, 28}), {0, 3, 5}) == errc::out_of_range);
  CHECK(refused(tile(), {1, 2, 2}) == errc::out_of_range);
  CHECK(refused(tile(), {1, -1, 2}) == errc::out_of_range);
  CHECK(refused(tile(), {1, 0, -1}) == errc::out_of_range);
  CHECK(refused(tile(), {1, std::numeric_limits<index_t>::max(), 2}) == errc::out_of_range);
  CHECK(refused(tile(), {4, 0, 1}) == errc::out_of_range);
  CHECK(refused(layer(), {2, 0, 1}) == errc::out_of_range);
  CHECK(refused(tile(), {SIZE_MAX, 0, 1}) == errc::out_of_range);  // -1
  CHECK(refused(piece({4, 9}), {1, 0, 1}) == errc::invalid_argument);
  shard_metadata irregular = tile();
  irregular.fragmentation.reset();
  CHECK(refused(irregular, {1, 1, 2}) == errc::invalid_argument);
  shard_metadata outside = tile();
  outside.global_offset[0] = 10;
  CHECK(refused(outside, {1, 1, 2}) == errc::out_of_range);
}

TEST_CASE("nothing can be kept, and nothing is kept of an empty shard") {
  const narrowed none = cut(tile(), {1, 2, 0});
  CHECK(none.shard.global_shape == dims{10, 0, 42, 9});
  CHECK(none.part.empty());
  const shard_metadata empty =
      from_rank_offsets("w", f32({0, 3}), {.offsets = {{0, 1, 2}}}).value();
  CHECK(cut(empty, {0, 0, 0}).shard == empty);
  CHECK(cut(empty, {1, 1, 2}).shard.global_shape == dims{0, 2});
  const index_t huge = std::numeric_limits<index_t>::max() / 2;
  const shard_metadata beside =
      from_rank_offsets_flat("w", f32({0}), {{5, huge, huge, 0}, {0, 0}}, {}).value();
  CHECK_FALSE(narrow(beside, {0, 1, 3}).value().has_value());
}

TEST_CASE("what a narrowed shard says of its elements is what they are in the narrowed tensor") {
  std::mt19937 random(9);
  const auto below = [&](index_t n) {
    return static_cast<index_t>(random() % static_cast<unsigned>(n));
  };
  for (int round = 0; round < zarrpoint_test::random_rounds(2000); ++round) {
    const dims local{1 + below(5), 1 + below(5)};
    const index_t volume = local[0] * local[1];
    const index_t start = below(volume + 1);
    const flat_range range{start, start + below(volume - start + 1)};
    const index_t count = 1 + below(3);
    const index_t position = below(count);
    const shard_metadata old =
        from_rank_offsets_flat("w", f32({range.size()}), {local, range},
                               {.offsets = {{0, position, count}, {1, 1, 2}}})
            .value();
    const index_t from = below(local[0]);
    const axis_range to{0, from, 1 + below(local[0] - from)};
    const auto made = narrow(old, to).value();
    const auto before = global_coordinates(old).value();
    // The rows of the old global tensor that all the cut shards keep, and their new numbers.
    std::size_t kept = 0;
    for (std::size_t i = 0; i < before[0].size(); ++i) {
      const index_t row = before[0][i] % local[0] - to.start;
      if (row < 0 || row >= to.length) continue;
      REQUIRE(made);
      const auto after = global_coordinates(made->shard).value();
      REQUIRE(kept < after[0].size());
      CHECK(static_cast<std::size_t>(made->part.offset[0]) + kept == i);
      CHECK(after[0][kept] == before[0][i] / local[0] * to.length + row);
      CHECK(after[1][kept] == before[1][i]);
      ++kept;
    }
    if (range.size() > 0) CHECK(made.has_value() == (kept > 0));
    if (made) CHECK(made->part.shape == dims{static_cast<index_t>(kept)});
  }
}

}  // namespace narrow_test
