// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/interop/orbax/orbax_format.hpp>
#include <zarrpoint/interop/orbax/orbax_step.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace orbax_step_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/orbax/";

store_key key(std::string_view text) { return store_key::parse(text).value(); }

stored_place place(const std::string& path) {
  return {file_store::open(path, {.read_only = true}).value(), store_key::root()};
}

result<checkpoint> opened(const std::string& path) {
  return open(path, {.stores = formats<orbax::format>()});
}

bool contains(const error& failure, std::string_view text) {
  INFO(to_string(failure));
  return failure.message.find(text) != std::string::npos;
}

TEST_CASE("orbax: what _CHECKPOINT_METADATA tells, all of it optional") {
  const auto read = [](const std::string& path) {
    const std::string text = test::read_file(golden + path + "/_CHECKPOINT_METADATA");
    return orbax::read_checkpoint_facts(as_bytes(text)).value();
  };
  const auto step = read("manager-composite/5");
  CHECK(step.item_handlers.find("extra")->if_string()->ends_with("JsonCheckpointHandler"));
  CHECK(step.begin_time == 1795216723362617384U);
  CHECK(step.commit_time == 1795216723377098424U);
  CHECK(step.metrics.if_object()->empty());
  const auto single = read("rich-types");
  CHECK(single.item_handlers.if_string()->ends_with("PyTreeCheckpointHandler"));
  CHECK(*single.custom_metadata.find("by")->if_string() == "us");
  const auto parsed = [](std::string_view text) {
    return orbax::read_checkpoint_facts(as_bytes(text));
  };
  const auto none = parsed("{}").value();
  CHECK(none.item_handlers.is_null());
  CHECK(!none.commit_time);
  // What is not known joins the user's, whose members come first; `custom` is the older name.
  const auto old = parsed(R"({"custom":{"a":1,"b":2},"b":3,"c":4,"init_timestamp_nsecs":-1})");
  CHECK(old->custom_metadata == json(json::object{{"a", 1}, {"b", 2}, {"c", 4}}));
  CHECK(!old->begin_time);
  CHECK(parsed(R"({"custom_metadata":[1],"b":3})")->custom_metadata == json(json::array{1}));
  CHECK(!parsed("[]"));
  CHECK(!parsed("{"));
}

TEST_CASE("orbax: items of a step, and those of JSON as values") {
  const auto step = place(golden + "manager-composite/5");
  const auto items = orbax::list_items(step).value();
  REQUIRE(items.size() == 2);
  CHECK(items[0].name == "extra");
  CHECK(items[0].kind == orbax::item_kind::json);
  CHECK(items[1].name == "state");
  CHECK(items[1].kind == orbax::item_kind::tree);
  const json extra = orbax::read_json_item({step.store, key("extra")}).value();
  CHECK(*extra.find("lr")->to_double() == 0.1);
  CHECK(extra.find("tags")->if_array()->size() == 2);
  CHECK(
      contains(orbax::read_json_item({step.store, key("state")}).failure(), "not an item of JSON"));
  memory_store made;
  made.put(key("s/metrics/metrics"), as_bytes(R"({"loss":NaN})")).value();
  made.put(key("s/v1/data.json"), as_bytes("[1,2]")).value();
  made.put(key("s/bad/metadata"), as_bytes("{")).value();
  made.put(key("s/proto/x.pb"), as_bytes("")).value();
  made.put(key("s/late.orbax-checkpoint-tmp/data.json"), as_bytes("1")).value();
  const auto mixed = orbax::list_items({made, key("s")}).value();
  REQUIRE(mixed.size() == 4);
  CHECK(mixed[2].kind == orbax::item_kind::other);
  const auto json = [&](const char* name) { return orbax::read_json_item({made, key(name)}); };
  CHECK(std::isnan(*json("s/metrics")->find("loss")->to_double()));
  CHECK(json("s/v1")->if_array()->size() == 2);
  CHECK(contains(json("s/bad").failure(), "s/bad/metadata"));
}

TEST_CASE("orbax: path:item, of the newest step that has it") {
  const test::temp_directory made;
  const std::string root = made / "run";
  fs::copy(golden + "manager-composite", root, fs::copy_options::recursive);
  fs::copy(root + "/1/state", root + "/1/ema", fs::copy_options::recursive);
  fs::copy(root + "/1/state", root + "/5/ema:2", fs::copy_options::recursive);
  const auto path_of = [&](const std::string& path) {
    const auto found = orbax::find_at(path).value();
    REQUIRE(found);
    return found->directory + " " + found->found.path + " " + std::string(found->rest.str());
  };
  CHECK(path_of(root + ":state") == root + " 5/state ");
  CHECK(path_of(root + ":ema") == root + " 1/ema ");
  CHECK(path_of(root + ":ema/params/w") == root + " 1/ema params/w");
  CHECK(path_of(root + "/5:state") == root + "/5 state ");
  CHECK(path_of(root + "/5:ema:2") == root + "/5 ema:2 ");
  // A directory of that name is what it is, and so is one without an item.
  CHECK(path_of(root + "/5/ema:2/params/") == root + "/5/ema:2  params");
  CHECK(path_of(root + "/1/ema/") == root + "/1/ema  ");
  CHECK(!orbax::find_at(made.path().string()).value());
  CHECK(contains(opened(root + ":other").failure(), "no item \"other\""));
  CHECK(contains(opened(root).failure(), "several items: \"ema:2\" \"state\"; open one"));
  CHECK(opened(root + ":state").value().contains("step"));
  CHECK(opened("orbax://" + root + ":state").value().contains("step"));

  // An item of JSON is a group with attributes.
  const auto extra = opened(root + ":extra").value();
  CHECK(extra.names().empty());
  CHECK(*extra.attributes().find("lr")->to_double() == 0.1);
  test::write_file(root + "/5/extra/metadata", "[3]");
  CHECK(opened(root + ":extra")->attributes().find("value")->if_array()->size() == 1);
  test::write_file(root + "/5/extra/metadata", "{");
  CHECK(contains(opened(root + ":extra").failure(), "extra/metadata"));
  const fs::path before = fs::current_path();
  fs::current_path(made.path());
  CHECK(orbax::find_at("run:state").value()->found.path == "5/state");
  CHECK(!orbax::find_at("walk:state").value());
  fs::current_path(before);
}

TEST_CASE("orbax: a step as docs/orbax.md has it") {
  namespace zp = zarrpoint;
  const std::string path = golden + "manager-composite/5";
  const auto base = zp::file_store::open(path, {.read_only = true}).value();
  for (const auto& item : zp::orbax::list_items({base, zp::store_key::root()}).value())
    std::puts(item.name.c_str());
  const auto extra = zp::orbax::read_json_item({base, zp::store_key::parse("extra").value()});
  CHECK(extra->find("lr") != nullptr);
}

}  // namespace orbax_step_test
