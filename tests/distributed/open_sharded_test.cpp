// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/distributed/load/open_sharded.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/shard_values.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace open_sharded_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

memory_store with_file(const char* name, const std::string& text) {
  const memory_store out;
  REQUIRE(out.put(store_key::parse(name).value(), as_bytes(text)));
  return out;
}

std::string refusal(const memory_store& store) {
  const auto opened = open_sharded(store);
  return opened ? "opened" : to_string(opened.failure());
}

}  // namespace

TEST_CASE("open: what all processes have in common, and what there is of shards") {
  const memory_store store;
  group_save_options how;
  how.content_metadata = node::object{{"format", 2}};
  CHECK(save_by(
            1, store,
            [](int) {
              const auto w = from_rank_offsets("w", {dtype_kind::int8, {3}}, {}).value();
              return state{{"w", with_values(w, 1)},
                           {"o", sharded_object::make("o", json_text{"1"}).value()},
                           {"step", 4}};
            },
            how) == "done");
  const auto opened = open_sharded(store);
  REQUIRE(opened);
  CHECK(opened->name == "memory:");
  CHECK(opened->shards->tensors().size() == 1);
  CHECK(opened->shards->objects().size() == 1);
  CHECK(opened->content_metadata == node(node::object{{"format", 2}}));
  CHECK(opened->common.find("step") != nullptr);
  CHECK(opened->common.find("content_metadata") == nullptr);
}

TEST_CASE("open: a checkpoint of one process, or any Zarr hierarchy, is read as ours") {
  const memory_store store;
  const std::vector<float> weights{1, 2, 3};
  REQUIRE(save(store, {leaf("layer/w", weights)}));
  const auto opened = open_sharded(store);
  REQUIRE(opened);
  CHECK(opened->shards->tensors().front().key == "layer/w");
  CHECK(opened->common.is_null());
}

TEST_CASE("open: what cannot be read says why") {
  CHECK(refusal(memory_store()) == "not_found: memory: is not a distributed checkpoint");
  const auto backend = [](const char* text) { return refusal(with_file("metadata.json", text)); };
  const std::string unknown =
      backend(R"({"sharded_backend": "torch_dist", "sharded_backend_version": 1,)"
              R"( "common_backend": "torch", "common_backend_version": 1})");
  CAPTURE(unknown);
  CHECK(unknown.starts_with("unsupported: "));
  CHECK(unknown.find("(torch_dist, 1)") != unknown.npos);
  for (const char* bad : {"{}", R"({"sharded_backend": 3})", "[]",
                          R"({"sharded_backend": "zarr", "sharded_backend_version": -1})",
                          R"({"sharded_backend": "zarr", "sharded_backend_version": 1e30})"})
    CHECK(backend(bad).starts_with("corrupt: "));
  CHECK(refusal(with_file("metadata.json", "{")).starts_with("corrupt: "));
  const auto group = [](const std::string& pairs) {
    return refusal(with_file("zarr.json", R"({"zarr_format":3,"node_type":"group","attributes":)"
                                          R"({"zarrpoint_strategies":)" +
                                              pairs + "}}"));
  };
  for (const char* bad : {"{}", R"({"sharded":["zarr"],"common":["json",1]})",
                          R"({"sharded":"zarr","common":["json",1]})", R"({"sharded":["zarr",3]})"})
    CHECK(group(bad).starts_with("corrupt: "));
  CHECK(group(R"({"sharded":["zarr",4],"common":["json",1]})").starts_with("unsupported: "));
}

}  // namespace open_sharded_test
