// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/shard/shard_geometry.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <compare>
#include <random>

namespace shard_geometry_test {

namespace {

using namespace zarrpoint;

using coordinates = std::vector<std::vector<index_t>>;

tensor_spec f32(dims shape) { return {dtype_kind::float32, shape}; }

/// Golden row 1.
shard_metadata layer() {
  const sharding where{.offsets = {{0, 2, 6}, {1, 1, 3}, {2, 0, 2}}, .prepended_axes = 1};
  return from_rank_offsets("k", f32({4, 5}), where).value();
}

/// Golden row 11.
shard_metadata flat_layer() {
  const sharding where{.offsets = {{0, 3, 4}, {1, 1, 2}}, .prepended_axes = 1};
  return from_rank_offsets_flat("k", f32({4}), {{2, 6}, {5, 9}}, where).value();
}

/// What `shard_metadata` says that was built by hand.
shard_metadata raw(dims local, dims global, dims offset) {
  shard_metadata out;
  out.key = "k";
  out.type = dtype_kind::float32;
  out.local_shape = local;
  out.global_shape = global;
  out.global_offset = offset;
  return out;
}

/// The row-major numbers of the elements of boxes, one box after another.
std::vector<index_t> elements_of(const dims& shape, const std::vector<box>& boxes) {
  std::vector<index_t> out;
  const dims strides = row_major_strides(shape, 1);
  for (const box& part : boxes) {
    const index_t count = element_count(part.shape).value();
    const dims inner = row_major_strides(part.shape, 1);
    for (index_t i = 0; i < count; ++i) {
      index_t at = 0;
      for (std::size_t axis = 0; axis < shape.rank(); ++axis)
        at += (part.offset[axis] + i / inner[axis] % part.shape[axis]) * strides[axis];
      out.push_back(at);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("golden row 2: the slice, the cell and the largest chunks of a shard") {
  const auto slice = global_slice(layer()).value();
  CHECK(slice == std::vector<slice_part>{{2, 1, true}, {4, 4, false}, {0, 5, false}});
  CHECK(chunk_offset_in_global(layer()).value() == dims{2, 1, 0});
  CHECK(max_allowed_chunks(layer()).value() == dims{1, 4, 5});
}

TEST_CASE("golden row 5: an empty shard has chunks, but no cell") {
  const shard_metadata empty =
      from_rank_offsets("k", f32({0, 3}), {.offsets = {{0, 1, 2}}}).value();
  CHECK(max_allowed_chunks(empty).value() == dims{0, 3});
  CHECK(chunk_offset_in_global(empty).failure().code == errc::invalid_argument);
  CHECK(global_slice(empty).value() == std::vector<slice_part>{{0, 0, false}, {0, 3, false}});
}

TEST_CASE("golden rows 18 and 19: offsets and extents that are not multiples") {
  shard_metadata shifted = raw({4}, {8}, {3});
  shifted.fragmentation = dims{2};
  CHECK(chunk_offset_in_global(shifted).failure().code == errc::invalid_argument);
  CHECK(shifted.check().failure().message ==
        "shard of \"k\": axis 0: global offset 3 is not divisible by the local extent 4");

  shard_metadata thirds = raw({2}, {8}, {2});
  thirds.fragmentation = dims{3};
  CHECK(max_allowed_chunks(thirds).failure().code == errc::invalid_argument);
  CHECK(max_allowed_chunks(thirds).failure().message ==
        "shard of \"k\": axis 0: the global extent 8 is not divisible by the fragmentation 3");
  thirds.allow_shape_mismatch = true;
  CHECK(max_allowed_chunks(thirds).value() == dims{2});
}

TEST_CASE("geometry of shards that make no sense is refused") {
  const shard_metadata irregular = raw({3}, {8}, {2});
  CHECK(chunk_offset_in_global(irregular).failure().code == errc::invalid_argument);
  CHECK(max_allowed_chunks(irregular).failure().code == errc::invalid_argument);
  CHECK(local_coordinates(irregular).failure().code == errc::invalid_argument);
  CHECK(global_coordinates(irregular).failure().code == errc::invalid_argument);

  shard_metadata none = irregular;
  none.fragmentation = dims{0};
  CHECK(max_allowed_chunks(none).failure().code == errc::invalid_argument);
  shard_metadata wide = irregular;
  wide.prepended_axes = SIZE_MAX;
  CHECK_FALSE(global_slice(wide));
  CHECK_FALSE(max_allowed_chunks(wide));
  CHECK_FALSE(chunk_offset_in_global(wide));
  CHECK_FALSE(local_coordinates(wide));
  shard_metadata outside = flat_layer();
  outside.range = flat_range{5, 13};
  CHECK(local_coordinates(outside).failure().code == errc::out_of_range);
}

TEST_CASE("golden rows 12 and 13: the coordinates of a flat range") {
  CHECK(local_coordinates(flat_layer()).value() == coordinates{{0, 1, 1, 1}, {5, 0, 1, 2}});
  CHECK(global_coordinates(flat_layer()).value() ==
        coordinates{{3, 3, 3, 3}, {2, 3, 3, 3}, {5, 0, 1, 2}});
  shard_metadata none = flat_layer();
  none.range = flat_range{9, 9};
  CHECK(global_coordinates(none).value() == coordinates{{}, {}, {}});
}

TEST_CASE("a flat range is few boxes") {
  CHECK(detail::flat_boxes({4, 7}, {4, 9}) == std::vector<box>{{{0, 4}, {1, 3}}, {{1, 0}, {1, 2}}});
  CHECK(detail::flat_boxes({4, 7}, {4, 23}) ==
        std::vector<box>{{{0, 4}, {1, 3}}, {{1, 0}, {2, 7}}, {{3, 0}, {1, 2}}});
  CHECK(detail::flat_boxes({4, 7}, {7, 21}) == std::vector<box>{{{1, 0}, {2, 7}}});
  CHECK(detail::flat_boxes({4, 7}, {0, 28}) == std::vector<box>{box::whole({4, 7})});
  CHECK(detail::flat_boxes({}, {0, 1}) == std::vector<box>{box{}});
  CHECK(detail::flat_boxes({4, 7}, {5, 5}).empty());
  CHECK(detail::flat_boxes({0, 7}, {0, 5}).empty());
  // Not an array, or not in it.
  CHECK(detail::flat_boxes({4}, {-9, 2}) == std::vector<box>{{{0}, {2}}});
  CHECK(detail::flat_boxes({4}, {2, INT64_MAX}) == std::vector<box>{{{2}, {2}}});
  CHECK(detail::flat_boxes({4}, {3, 1}).empty());
  CHECK(detail::flat_boxes({-4}, {0, 1}).empty());
  CHECK(detail::flat_boxes({INT64_MAX, 2}, {0, 1}).empty());
  CHECK(detail::flat_boxes({INT64_MAX}, {1, INT64_MAX}) ==
        std::vector<box>{{{1}, {INT64_MAX - 1}}});

  const std::vector<box> global = detail::global_boxes(flat_layer());
  CHECK(global == std::vector<box>{{{3, 2, 5}, {1, 1, 1}}, {{3, 3, 0}, {1, 1, 3}}});
  CHECK(detail::global_boxes(layer()) == std::vector<box>{{{2, 4, 0}, {1, 4, 5}}});
}

TEST_CASE("the boxes of a flat range are its elements, in order, and 2 * rank - 1 at most") {
  std::mt19937 random(3);
  std::size_t most = 0;
  for (int round = 0; round < 3000; ++round) {
    dims shape;
    for (std::size_t i = 0, rank = 1 + random() % 4; i < rank; ++i)
      shape.push_back(static_cast<index_t>(1 + random() % 5));
    const index_t count = element_count(shape).value();
    const auto start = static_cast<index_t>(random() % static_cast<unsigned>(count));
    const auto length = static_cast<index_t>(random() % static_cast<unsigned>(count - start + 1));
    const std::vector<box> boxes = detail::flat_boxes(shape, {start, start + length});
    CAPTURE(to_string(shape));
    CAPTURE(start);
    CAPTURE(length);
    CHECK(boxes.size() <= 2 * shape.rank() - 1);
    most = std::max(most, boxes.size());
    std::vector<index_t> wanted;
    for (index_t i = start; i < start + length; ++i) wanted.push_back(i);
    CHECK(elements_of(shape, boxes) == wanted);
  }
  CHECK(most == 7);
}

}  // namespace shard_geometry_test
