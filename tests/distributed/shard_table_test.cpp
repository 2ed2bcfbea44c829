// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/plan/shard_table.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace shard_table_test { namespace {

using namespace zarrpoint;

const shard_metadata regular{.key = "w",
                             .type = dtype_kind::bfloat16,
                             .local_shape = {2, 5},
                             .global_shape = {6, 4, 10},
                             .global_offset = {1, 2, 5},
                             .fragmentation = dims{6, 2, 2},
                             .replica = {0, 3},
                             .prepended_axes = 1};
const shard_metadata flat_irregular{.key = "m",
                                    .type = dtype_kind::float32,
                                    .local_shape = {3},
                                    .global_shape = {10},
                                    .global_offset = {4},
                                    .replica = replica_id(std::vector<index_t>{}),
                                    .allow_shape_mismatch = true,
                                    .range = flat_range{1, 3}};

TEST_CASE("a shard comes out of the table as it went in") {
  const shard_metadata scalar{.key = "step",
                              .type = dtype_kind::int64,
                              .local_shape = {},
                              .global_shape = {},
                              .global_offset = {},
                              .fragmentation = dims{}};
  detail::shard_table table;
  for (const int rank : {0, 3}) {
    for (const shard_metadata* one : {&regular, &flat_irregular, &scalar})
      REQUIRE(table.add(rank, *one));
  }
  REQUIRE(table.size() == 6);
  CHECK(table.forms().size() == 3);
  for (const std::size_t first : {0U, 3U}) {
    CHECK(table.metadata(first) == regular);
    CHECK(table.metadata(first + 1) == flat_irregular);
    CHECK(table.metadata(first + 2) == scalar);
  }
  CHECK(table.rank(4) == 3);
  CHECK(table.position(4) == 1);
  CHECK(table.global_box(0) == regular.global_box());
  CHECK(table.global_box(1) == flat_irregular.global_box());
  CHECK(table.extent(0, 0) == 1);
  CHECK(table.extent(0, 2) == 5);
  CHECK_FALSE(table.is_main(0));
  CHECK(table.is_main(1));
  CHECK_FALSE(table.is_empty(2));
  CHECK(detail::main_shards(table) == std::vector<std::uint32_t>{1, 2, 4, 5});
}

TEST_CASE("what is empty is not a main shard to be stored") {
  shard_metadata no_range = flat_irregular;
  no_range.range = flat_range{2, 2};
  shard_metadata no_extent = flat_irregular;
  no_extent.local_shape = {0};
  no_extent.range.reset();
  detail::shard_table table;
  table.add(0, no_range).value();
  table.add(1, no_extent).value();
  CHECK(table.is_empty(0));
  CHECK(table.is_empty(1));
  CHECK(detail::main_shards(table).empty());
}

TEST_CASE("shapes that differ in rank, numbers of another form and no process are refused") {
  detail::shard_table table;
  for (dims shard_metadata::*const member :
       {&shard_metadata::local_shape, &shard_metadata::global_offset,
        &shard_metadata::global_shape}) {
    shard_metadata bad = regular;
    (bad.*member).push_back(1);
    CHECK(table.add(0, bad).failure().code == errc::invalid_argument);
  }
  shard_metadata bad = regular;
  bad.fragmentation->push_back(1);
  CHECK_FALSE(table.add(0, bad));
  bad = regular;
  bad.prepended_axes = SIZE_MAX;
  CHECK_FALSE(table.add(0, bad));
  CHECK_FALSE(table.add(-1, regular));
  CHECK(table.empty());
  REQUIRE(table.add(0, regular));
  CHECK_FALSE(table.append(0, 0, std::vector<index_t>{1, 2}));
  CHECK_FALSE(table.append(0, 7, std::vector<index_t>{}));
  CHECK(table.size() == 1);
}

}}  // namespace shard_table_test
