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
  how.content_metadata = json::object{{"format", 2}};
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
  CHECK(opened->content_metadata == json(json::object{{"format", 2}}));
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

struct other_loader : zarr_loader {
  static constexpr std::string_view name = "other_loader";
  static constexpr std::string_view backend = "other";
  static constexpr int version = 7;
};
struct patient_loader : other_loader {
  static constexpr std::string_view name = "patient_loader";

  result<void> check_backend(std::string_view wrote) const {
    if (wrote == "zarr") return {};
    return error{errc::unsupported, "not zarr"};
  }
  result<void> check_version(int wrote) const {
    if (wrote <= 3) return {};
    return error{errc::unsupported, "too new"};
  }
};

TEST_CASE("open: a loader chosen by hand is compared with what wrote the checkpoint") {
  const auto with = [](const location& where, const strategy_choice& loader) {
    const auto opened = open_sharded(where, {}, {.sharded = loader});
    return opened ? "opened" : opened.failure().message;
  };
  const memory_store ours;
  const std::vector<float> w{1, 2, 3};
  REQUIRE(save(ours, state{{"w", shard("w", w).value()}}, process_group{}));
  CHECK(with(ours, zarr_loader{}) == "opened");
  CHECK(with(ours, strategy_choice("zarr", 3)) == "opened");
  CHECK(with(ours, patient_loader{}) == "opened");
  CHECK(with(ours, other_loader{}) ==
        "open memory:: strategy other_loader(other, 7) does not read backend \"zarr\", which wrote "
        "the checkpoint");
  const auto named = [](const char* pair) {
    return with_file("zarr.json", R"({"zarr_format":3,"node_type":"group","attributes":)"
                                  R"({"zarrpoint_strategies":{"sharded":)" +
                                      std::string(pair) + R"(,"common":["json",1]}}})");
  };
  CHECK(with(named(R"(["zarr",4])"), zarr_loader{}).find("version 4, which wrote") !=
        std::string::npos);
  CHECK(with(named(R"(["zarr",4])"), patient_loader{}).find("too new") != std::string::npos);
  CHECK(with(named(R"(["mine",3])"), patient_loader{}).find("not zarr") != std::string::npos);
  CHECK(
      open_sharded(named(R"(["zarr",3])"), {}, {.common = strategy_choice(json_common_loader{})}));
  // A hierarchy that names nothing is whatever the caller says.
  const memory_store plain;
  REQUIRE(save(plain, {leaf("w", w)}));
  CHECK(with(plain, other_loader{}) == "opened");
}

struct other_common : json_common_loader {
  static constexpr std::string_view name = "other_common";
  static constexpr std::string_view backend = "yaml";
};
struct newer_common : json_common_loader {
  static constexpr std::string_view name = "newer_common";
  static constexpr int version = 2;
};
struct patient_common : other_common {
  static constexpr std::string_view name = "patient_common";

  result<void> check_backend(std::string_view wrote) const {
    if (wrote == "json" || wrote == "yaml") return {};
    return error{errc::unsupported, "neither JSON nor YAML"};
  }
  result<void> check_version(int wrote) const {
    if (wrote < 3) return {};
    return error{errc::unsupported, "too new"};
  }
};

TEST_CASE("open: a common loader chosen by hand is compared with what wrote the checkpoint, too") {
  const auto with = [](const location& where, const strategy_choice& loader) {
    const auto opened = open_sharded(where, {}, {.common = loader});
    if (!opened) return opened.failure().message;
    return std::string(opened->common.find("step") != nullptr ? "opened" : "opened without");
  };
  const memory_store ours;
  REQUIRE(save(ours, state{{"step", 1}}, process_group{}));
  CHECK(with(ours, json_common_loader{}) == "opened");
  CHECK(with(ours, patient_common{}) == "opened");
  CHECK(with(ours, no_common_loader{}) == "opened without");
  CHECK(with(ours, other_common{})
            .starts_with("open memory:: strategy other_common(yaml, 1) does not read backend "
                         "\"json\", which wrote the checkpoint; "));
  CHECK(with(ours, newer_common{})
            .starts_with("open memory:: strategy newer_common(json, 2) does not read version 1, "
                         "which wrote the checkpoint; "));
  const auto named = [](const char* pair) {
    return with_file("zarr.json", R"({"zarr_format":3,"node_type":"group","attributes":)"
                                  R"({"zarrpoint_strategies":{"sharded":["zarr",3],"common":)" +
                                      std::string(pair) + "}}}");
  };
  CHECK(with(named(R"(["json",3])"), patient_common{}).find("too new") != std::string::npos);
  CHECK(with(named(R"(["toml",1])"), patient_common{}).find("neither JSON nor YAML") !=
        std::string::npos);
  CHECK(with(named(R"(["json",2])"), json_common_loader{}).find("version 2, which wrote") !=
        std::string::npos);
  CHECK(with(named(R"(["toml",1])"), no_common_loader{}) == "opened without");
  CHECK(with(named(R"(["toml"])"), no_common_loader{}) == "opened without");
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
