// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/resize.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/array_cases.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace resize_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

std::int32_t at(const tensor& of, index_t i, index_t j) {
  return of.data<std::int32_t>()[static_cast<std::size_t>(i * of.shape()[1] + j)];
}

array_metadata metadata_of(int variant) {
  array_metadata out = raw_metadata(dtype_kind::int32, {5, 6}, {2, 4});
  out.fill = fill_value::of(std::int32_t{-7});
  if (variant == 1) return sharded_metadata(out, {1, 2});
  if (variant == 2) {
    out.chunk_shape = {3, 4};
    out.edges = {{{{2, 1}, {3, 1}}}, {{{4, 1}}, true}};
  }
  if (variant == 3) {
    out.zarr_format = 2;
    out.keys = {chunk_key_encoding::style::v2, '.'};
  }
  return out;
}

TEST_CASE("what is cut off is gone, also after growing again") {
  for (int variant = 0; variant < 4; ++variant) {
    CAPTURE(variant);
    memory_store store;
    const array first = array::create(store, key_of("a"), metadata_of(variant)).value();
    const auto data = counting({5, 6});
    first.write(box::whole({5, 6}), view_of(data, {5, 6})).value();
    const array small = resize(first, {3, 5}).value();
    CHECK(small.metadata().shape == dims{3, 5});
    CHECK(array::open(store, key_of("a")).value().metadata() == small.metadata());
    CHECK(at(small.read(box::whole({3, 5})).value(), 2, 4) == 2 * 6 + 4 + 1);
    const array large = resize(small, {9, 7}).value();
    const tensor all = large.read(box::whole({9, 7})).value();
    for (index_t i = 0; i < 9; ++i) {
      for (index_t j = 0; j < 7; ++j)
        CHECK(at(all, i, j) == (i < 3 && j < 5 ? static_cast<std::int32_t>(i * 6 + j + 1) : -7));
    }
    CHECK(resize(large, {0, 7}).value().read(box::whole({0, 7})).has_value());
    CHECK(store.list(key_of("a")).value().size() == 1);  // the metadata are all that is left
  }
}

TEST_CASE("append writes the elements before the shape") {
  for (int variant = 0; variant < 4; ++variant) {
    CAPTURE(variant);
    memory_store store;
    array grown = array::create(store, key_of("a"), metadata_of(variant)).value();
    const auto data = counting({5, 6});
    grown.write(box::whole({5, 6}), view_of(data, {5, 6})).value();
    const std::vector<std::int32_t> row{100, 101, 102, 103, 104, 105};
    for (int i = 0; i < 4; ++i) grown = append(grown, 0, view_of(row, {1, 6})).value();
    CHECK(grown.metadata().shape == dims{9, 6});
    const tensor all = array::open(store, key_of("a")).value().read(box::whole({9, 6})).value();
    CHECK(at(all, 4, 5) == 30);
    CHECK(at(all, 5, 0) == 100);
    CHECK(at(all, 8, 5) == 105);
    const std::vector<std::int32_t> column(9, 1);
    const array wide = append(grown, 1, view_of(column, {9, 1})).value();
    CHECK(at(wide.read(box::whole({9, 7})).value(), 8, 6) == 1);

    CHECK(append(grown, 2, view_of(row, {1, 6})).failure().code == errc::invalid_argument);
    CHECK(append(grown, 0, view_of(row, {6})).failure().code == errc::invalid_argument);
    CHECK(append(grown, 1, view_of(row, {1, 6})).failure().code == errc::shape_mismatch);
    CHECK(resize(grown, {1}).failure().code == errc::invalid_argument);
    CHECK(resize(grown, {1, -1}).failure().code == errc::invalid_argument);
  }
}

TEST_CASE("what an interrupted shrinking left behind does not come back") {
  memory_store store;
  const array first = array::create(store, key_of("a"), metadata_of(0)).value();
  const auto data = counting({5, 6});
  first.write(box::whole({5, 6}), view_of(data, {5, 6})).value();
  // The metadata are there, and then the process died.
  array_metadata cut = metadata_of(0);
  cut.shape = {2, 6};
  const array small = array::from_metadata(store, key_of("a"), cut).value();
  REQUIRE(detail::write_array_documents(small));
  const array large = resize(array::open(store, key_of("a")).value(), {5, 6}).value();
  const tensor all = large.read(box::whole({5, 6})).value();
  CHECK(at(all, 1, 0) == 7);
  CHECK(at(all, 2, 0) == -7);
  CHECK(at(all, 4, 5) == -7);
}

TEST_CASE("the rest of a chunk that an interrupted shrinking cut does not come back either") {
  memory_store store;
  auto metadata = raw_metadata(dtype_kind::int32, {8}, {4});
  const array first = array::create(store, key_of("a"), metadata).value();
  const auto data = counting({8});
  first.write(box::whole({8}), view_of(data, {8})).value();
  metadata.shape = {6};
  REQUIRE(
      detail::write_array_documents(array::from_metadata(store, key_of("a"), metadata).value()));
  const array large = resize(array::open(store, key_of("a")).value(), {8}).value();
  const tensor all = large.read(box::whole({8})).value();
  CHECK(all.data<std::int32_t>()[5] == 6);
  CHECK(all.data<std::int32_t>()[6] == 0);
  CHECK(all.data<std::int32_t>()[7] == 0);
}

TEST_CASE("values of one's own are appended: flat ones as long as they fill") {
  const memory_store store;
  const array first =
      array::create(store, key_of("a"), raw_metadata(dtype_kind::int32, {0, 3}, {2, 2})).value();
  const array two = append(first, 0, std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}).value();
  CHECK(two.spec().shape == dims{2, 3});
  const std::int32_t row[1][3] = {{7, 8, 9}};
  const array three = append(two, 0, row).value();
  CHECK(three.spec().shape == dims{3, 3});
  const std::vector<double> column{10, 11, 12};
  CHECK(append(three, 1, column).failure().code == errc::dtype_mismatch);
  const array wide = append(three, 1, column, {.cast = true}).value();
  CHECK(wide.spec().shape == dims{3, 4});
  const tensor all = wide.read(box::whole({3, 4})).value();
  CHECK(at(all, 1, 2) == 6);
  CHECK(at(all, 2, 0) == 7);
  CHECK(at(all, 2, 3) == 12);
  CHECK(append(wide, 0, std::vector<std::int32_t>(5)).failure().code == errc::invalid_argument);
  CHECK(append(wide, 2, std::vector<std::int32_t>(4)).failure().code == errc::invalid_argument);
  CHECK(append(wide, 0, tensor()).failure().code == errc::invalid_argument);
}

TEST_CASE("a rectilinear axis of length 0 grows by chunks of its last extent") {
  memory_store store;
  auto metadata = raw_metadata(dtype_kind::int32, {0}, {3});
  metadata.edges = {axis_edges({{2, 1}, {3, 1}})};
  const array empty = array::create(store, key_of("a"), metadata).value();
  const array grown = resize(empty, {100}).value();
  CHECK(grown.metadata().edges[0].find(99).start == 98);
  metadata.edges = {axis_edges()};
  CHECK_FALSE(array::create(store, key_of("b"), metadata));
}

}}  // namespace resize_test
