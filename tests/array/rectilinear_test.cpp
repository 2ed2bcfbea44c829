// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/indexed_array.hpp>
#include <zarrpoint/array/rectilinear.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace rectilinear_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

// Random arrays of this kind are in array_test.cpp.

TEST_CASE("each chunk of a rectilinear grid is an object of its own shape") {
  auto metadata = raw_metadata(dtype_kind::int32, {10, 7}, {4, 5});
  metadata.edges = {{{{3, 2}, {4, 1}}}, {{{2, 1}, {5, 1}}}};
  recording_store store;
  const array made = array::create(store, key_of("a"), metadata).value();
  const auto data = counting({10, 7});
  chunk_digests digests;
  made.write(box::whole({10, 7}), view_of(data, {10, 7}), write_options{.collected = &digests})
      .value();
  CHECK(store.keys() == std::vector<std::string>{"a/c/0/0", "a/c/0/1", "a/c/1/0", "a/c/1/1",
                                                 "a/c/2/0", "a/c/2/1", "a/zarr.json"});
  CHECK(get(store, key_of("a/c/2/1"), SIZE_MAX).value()->size() == 4 * 5 * 4);
  CHECK(digests.find("c/2/1")->size == 80);
  const read_options strict{.missing = missing_chunks::error, .expected = &digests};
  CHECK(elements_of(made.read(box::whole({10, 7}), strict).value().view()) ==
        elements_of(view_of(data, {10, 7})));
  CHECK_FALSE(made.view().value().has_value());

  // An element in each chunk of the first axis, and every second of the other.
  const selection part(dims{2, 1}, dims{3, 3}, dims{3, 2});
  const tensor some = made.read(part).value();
  CHECK(elements_of(some.view()) == elements_of(subview(view_of(data, {10, 7}), part)));

  store.erase(key_of("a/c/1/0")).value();
  const auto lost = made.read(box::whole({10, 7}), strict);
  REQUIRE_FALSE(lost);
  CHECK(to_string(lost.failure()).find("chunk c/1/0: it is missing") != std::string::npos);
}

TEST_CASE("a shard whose extent is not a multiple of its inner chunks' is named") {
  auto metadata = raw_metadata(dtype_kind::int32, {7}, {4});
  metadata.edges = {{{{4, 1}, {3, 1}}}};
  metadata = sharded_metadata(metadata, {2});
  const array made = array::create(recording_store(), key_of("a"), metadata).value();
  CHECK(made.read(box{{0}, {4}}));
  const auto read = made.read(box::whole({7}));
  REQUIRE_FALSE(read);
  CHECK(to_string(read.failure()).find("does not divide the shard of shape [3]") !=
        std::string::npos);
}

TEST_CASE("the parts of a selection in the chunks of an axis") {
  const axis_edges edges{{{3, 2}, {4, 1}}};
  const auto parts = detail::edge_parts(edges, selection(dims{1}, dims{3}, dims{4}), 0);  // 1, 5, 9
  REQUIRE(parts.size() == 3);
  CHECK(parts[1].chunk.index == 1);
  CHECK(parts[1].first == 2);
  CHECK(parts[1].at == 1);
  CHECK(parts[2].chunk.extent == 4);
  CHECK(parts[2].first == 3);
  CHECK(detail::edge_parts(edges, selection(box{{0}, {0}}), 0).empty());
}

TEST_CASE("nothing of an array without elements takes no time, whatever its other axes say") {
  auto metadata = raw_metadata(dtype_kind::int8, {index_t{1} << 40, 0}, {1, 1});
  metadata.edges = {axis_edges({{1, index_t{1} << 40}}), axis_edges({{1, 1}})};
  const array made = array::create(recording_store(), key_of("a"), metadata).value();
  CHECK(made.read(box::whole(metadata.shape)).value().size() == 0);
  CHECK(made.write(box::whole(metadata.shape),
                   dense_view(static_cast<const std::byte*>(nullptr), metadata.spec())));
  const indexed_array none = indexed_array(made).taken(1, {}).value();
  CHECK(none.read().value().size() == 0);
}

}}  // namespace rectilinear_test
