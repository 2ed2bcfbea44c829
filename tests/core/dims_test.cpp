// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/box.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <vector>

namespace dims_test {

namespace zp = zarrpoint;

TEST_CASE("dims: built from lists, spans, ranges and repetition") {
  CHECK(zp::dims{}.rank() == 0);
  CHECK(zp::dims{}.empty());
  const zp::dims shape{3, 4};
  CHECK(shape.rank() == 2);
  CHECK(shape.size() == 2);
  CHECK(shape[1] == 4);
  CHECK(shape.back() == 4);
  CHECK(zp::dims(3, 7) == zp::dims{7, 7, 7});
  const std::vector<zp::index_t> values = {3, 4};
  CHECK(zp::dims(std::span<const zp::index_t>(values)) == shape);
  const std::vector<unsigned> extents = {3, 4};
  CHECK(zp::dims::from_range(extents.begin(), extents.end()) == shape);
  CHECK(shape != zp::dims{3});
  CHECK(shape != zp::dims{3, 5});
  const std::span<const zp::index_t> span = shape;
  CHECK(span.size() == 2);
  zp::dims grown = shape;
  grown.push_back(5);
  CHECK(grown == zp::dims{3, 4, 5});
  grown.clear();
  CHECK(grown == zp::dims{});
}

TEST_CASE("dims: text") {
  CHECK(zp::to_string(zp::dims{}) == "[]");
  CHECK(zp::to_string(zp::dims{3, -4}) == "[3, -4]");
}

TEST_CASE("element_count and byte_count: refuse what no memory holds") {
  CHECK(zp::element_count({}).value() == 1);
  CHECK(zp::element_count({3, 4}).value() == 12);
  const zp::index_t large = zp::index_t{1} << 62;
  CHECK(zp::element_count({large}).value() == large);
  CHECK(zp::element_count({large, 2}).failure().code == zp::errc::out_of_range);
  CHECK(zp::element_count({large, large, 0}).value() == 0);
  CHECK(zp::element_count({0, large, large}).value() == 0);
  CHECK(zp::element_count({0, -1}).failure().code == zp::errc::out_of_range);
  CHECK(zp::byte_count(zp::dims{3, 4}, 8).value() == 96);
  CHECK(zp::byte_count(zp::dims{large}, 2).failure().code == zp::errc::out_of_range);
  CHECK(zp::byte_count(zp::dims{INT64_MAX}, 1).value() == std::size_t{INT64_MAX});
}

TEST_CASE("row_major_strides: the last dimension runs fastest") {
  CHECK(zp::row_major_strides({}, 4) == zp::dims{});
  CHECK(zp::row_major_strides({2, 3, 5}, 4) == zp::dims{60, 20, 4});
  CHECK(zp::row_major_strides({2, 0, 5}, 1) == zp::dims{5, 5, 1});
  // Beside a 0 an extent may be of any size; under UBSan this would trap on overflow.
  CHECK(zp::row_major_strides({0, INT64_MAX, INT64_MAX}, 8).rank() == 3);
}

}  // namespace dims_test
