// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/chunk_boxes.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace chunk_boxes_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

array array_of(const array_metadata& metadata) {
  return array::from_metadata(recording_store(), key_of("a"), metadata).value();
}

/// Whether the boxes are a partition of the array.
void check_partition(const chunk_boxes& boxes, const dims& shape) {
  std::vector<int> times(static_cast<std::size_t>(element_count(shape).value()));
  std::size_t count = 0;
  for (const box& part : boxes) {
    CHECK(part == boxes[count++]);
    for_each_coordinate(part.shape, [&](const dims& at) {
      index_t flat = 0;
      for (std::size_t d = 0; d < shape.rank(); ++d)
        flat = flat * shape[d] + part.offset[d] + at[d];
      ++times[static_cast<std::size_t>(flat)];
    });
  }
  CHECK(count == boxes.size());
  CHECK(std::set<int>(times.begin(), times.end()) == std::set<int>{1});
}

TEST_CASE("chunks, shards and inner chunks cover an array, each element once") {
  const array_metadata plain = raw_metadata(dtype_kind::int8, {7, 10}, {4, 6});
  const array sharded = array_of(sharded_metadata(plain, {2, 3}));
  CHECK(chunk_boxes(sharded).size() == 4);
  CHECK(chunk_boxes(sharded)[3] == box{{4, 6}, {3, 4}});
  CHECK(chunk_boxes(sharded, chunk_level::inner).size() == 16);
  check_partition(chunk_boxes(sharded), {7, 10});
  check_partition(chunk_boxes(sharded, chunk_level::inner), {7, 10});
  array_metadata uneven = plain;
  uneven.edges = {{{{3, 1}, {4, 1}}}, {{{6, 1}}, true}};
  check_partition(chunk_boxes(array_of(uneven)), {7, 10});
  check_partition(chunk_boxes(array_of(raw_metadata(dtype_kind::int8, {}, {}))), {});
  CHECK(chunk_boxes(array_of(raw_metadata(dtype_kind::int8, {0, 3}, {2, 2}))).empty());
}

TEST_CASE("a chunk by its coordinates, where the grid has it") {
  array_metadata plain = raw_metadata(dtype_kind::int8, {7, 10}, {4, 6});
  array_metadata uneven = plain;
  uneven.edges = {{{{3, 1}, {4, 1}}}, {{{6, 1}}, true}};
  for (const array_metadata& each : {plain, uneven}) {
    const array of = array_of(each);
    const chunk_boxes boxes(of);
    REQUIRE(boxes.size() == 4);
    for (index_t i = 0; i < 2; ++i)
      for (index_t j = 0; j < 2; ++j)
        CHECK(boxes.at({i, j}).value() == boxes[static_cast<std::size_t>(2 * i + j)]);
    for (const dims& outside :
         {dims{2, 0}, dims{0, 2}, dims{-1, 0}, dims{0}, dims{0, 0, 0}, dims{}})
      CHECK_FALSE(boxes.at(outside));
  }
  const index_t huge = index_t{1} << 62;
  const array vast = array_of(raw_metadata(dtype_kind::int8, {huge + 1, huge, 5}, {huge, 1, 1}));
  CHECK(chunk_boxes(vast).size() == SIZE_MAX);
  CHECK(chunk_boxes(vast).at({1, huge - 1, 4}).value() == box{{huge, huge - 1, 4}, {1, 1, 1}});
  CHECK(chunk_boxes(array_of(raw_metadata(dtype_kind::int8, {}, {}))).at({}).value() == box{});
}

}}  // namespace chunk_boxes_test
