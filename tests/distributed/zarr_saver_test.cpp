// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/group.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/distributed/strategy/zarr_strategies.hpp>
#include <zarrpoint/handler/types/blob.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/shard_values.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace zarr_saver_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

state rows(int rank, const std::vector<index_t>& heights, bool regular) {
  index_t total = 0;
  for (const index_t height : heights) total += height;
  index_t at = 0;
  for (int i = 0; i < rank; ++i) at += heights[static_cast<std::size_t>(i)];
  const index_t height = heights[static_cast<std::size_t>(rank)];
  shard_metadata one{.key = "w",
                     .type = dtype_kind::float32,
                     .local_shape = {height, 4},
                     .global_shape = {total, 4},
                     .global_offset = {at, 0}};
  if (regular) one.fragmentation = dims{static_cast<index_t>(heights.size()), 1};
  return state{{"w", with_values(one, 1)}};
}

}  // namespace

TEST_CASE("zarr saver: a shard is an object, and what it is made of follows the rules") {
  const memory_store store;
  group_save_options how;
  how.storage.rules = {{.chunk_shape = dims{1, 2}, .codecs = zstd_codecs()}};
  CHECK(save_by(
            2, store,
            [](int rank) {
              return rows(rank, {3, 3}, true);
            },
            how) == "done");
  const auto opened = checkpoint::open(store);
  REQUIRE(opened);
  const auto about = opened->metadata("w").value();
  CHECK(about.shard_shape == dims{3, 4});
  const tensor values = opened->load<tensor>("w").value();
  CHECK(values.shape() == dims{6, 4});
}

TEST_CASE("zarr saver: uneven shards, cast as they are written, are read by any reader") {
  const memory_store store;
  group_save_options how;
  how.storage.rules = {{.cast = dtype_kind::float64}};
  CHECK(save_by(
            3, store,
            [](int rank) {
              return rows(rank, {5, 11, 1}, false);
            },
            how) == "done");
  const auto opened = checkpoint::open(store);
  REQUIRE(opened);
  const tensor values = opened->load<tensor>("w").value();
  CHECK(values.type() == dtype_kind::float64);
  CHECK(values.shape() == dims{17, 4});
  how.storage.rules = {{.cast = dtype_kind::string}};
  const std::string refused = save_by(
      3, store,
      [](int rank) {
        return rows(rank, {5, 11, 1}, false);
      },
      how);
  CHECK(refused.starts_with("unsupported: "));
}

TEST_CASE("zarr saver: attributes of tensors and groups, by name") {
  const memory_store store;
  const json unit = json::object{{"unit", "m"}};
  const json layer = json::object{{"layer", 0}};
  const auto tree = [](int rank) {
    shard_metadata one{.key = "layers/0/w",
                       .type = dtype_kind::float32,
                       .local_shape = {3, 4},
                       .global_shape = {6, 4},
                       .global_offset = {3 * rank, 0}};
    shard_metadata other = one;
    other.key = "v";
    return state{{"w", with_values(one, 1)},
                 {"v", with_values(other, 1)},
                 {"o", sharded_object::make("objects", json_text{"1"}, {{2}, {rank}, {}}).value()}};
  };
  group_save_options how;
  how.storage.attributes_of = {
      {"layers/0/w", unit}, {"layers/0", layer}, {"objects", unit}, {"v", json::object{}}};
  CHECK(save_by(2, store, tree, how) == "done");
  const auto opened = checkpoint::open(store).value();
  CHECK(opened.attributes("layers/0/w").value() == unit);
  CHECK(opened.metadata("layers/0/w").value().attributes == unit);
  CHECK(opened.attributes("objects").value() == unit);
  CHECK(opened.attributes("layers/0").value() == layer);
  CHECK(opened.attributes("layers").value().is_null());
  CHECK(opened.attributes("v").value().is_null());
  CHECK(opened.metadata("v").value().attributes.is_null());
  CHECK(array::open(store, store_key::parse("layers/0/w").value()).value().metadata().attributes ==
        unit);
  CHECK(group::open(store, store_key::parse("layers/0").value()).value().attributes() == layer);

  CHECK(remove_sharded_tensors(store, "v").value() == std::vector<std::string>{"v"});
  const auto rest = checkpoint::open(store).value();
  CHECK(rest.attributes("layers/0/w").value() == unit);
  CHECK(rest.attributes("layers/0").value() == layer);
  CHECK(remove_sharded_tensors(store, "layers").value().size() == 1);
  CHECK_FALSE(checkpoint::open(store).value().attributes("layers/0"));

  const auto refused = [&](json::object of) {
    how.storage.attributes_of = std::move(of);
    return save_by(2, store, tree, how);
  };
  CHECK(refused({{"layers/1", layer}}).find("attributes_of \"layers/1\": no leaf or group") !=
        std::string::npos);
  CHECK(refused({{"common_state", layer}}).find("no leaf or group") != std::string::npos);
  CHECK(refused({{"v", unit}, {"layers", layer}, {"v", unit}})
            .find("attributes_of \"v\": the name is given twice") != std::string::npos);
  CHECK(refused({{"v", 3}}).find("must be an object") != std::string::npos);
  CHECK(refused({{"layers", json::object{{"zarrpoint", 1}}}}).find("reserved") !=
        std::string::npos);
}

}  // namespace zarr_saver_test
