// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// What is not there at all, and what is there without the document that was looked for, are told
// apart by everything that opens a place.

#include <zarrpoint/array.hpp>
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/distributed/load/open_sharded.hpp>
#include <zarrpoint/megatron.hpp>
#include <zarrpoint/stores.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace missing_place_test { namespace {

using namespace zarrpoint;

store_key key_of(std::string_view text) { return store_key::parse(text).value(); }

template <class T>
std::string text_of(const result<T>& opened) {
  return opened ? "opened" : to_string(opened.failure());
}

/// Something that looks for a node, and what it says of a place without one.
struct entry_point {
  const char* name;
  std::function<std::string(const any_store&, const std::string&)> open;
  const char* without;
};

const std::vector<entry_point>& entry_points() {
  const auto root = [](const any_store& store) { return group::open(store).value(); };
  static const std::vector<entry_point> all{
      {"array::open",
       [](const any_store& store, const std::string& key) {
         return text_of(array::open(store, key_of(key)));
       },
       " is not an array: it has no zarr.json or .zarray"},
      {"group::open",
       [](const any_store& store, const std::string& key) {
         return text_of(group::open(store, key_of(key)));
       },
       " is not a group: it has no zarr.json or .zgroup"},
      {"open_array",
       [root](const any_store& store, const std::string& key) {
         return text_of(root(store).open_array(key));
       },
       " is not an array: it has no zarr.json, .zarray or .zgroup"},
      {"open_group",
       [root](const any_store& store, const std::string& key) {
         return text_of(root(store).open_group(key));
       },
       " is not a group: it has no zarr.json or .zgroup"},
      {"copy",
       [root](const any_store& store, const std::string& key) {
         return text_of(root(store).copy(key, group::create(memory_store()).value(), "to"));
       },
       " is not a node: it has no zarr.json, .zarray or .zgroup"},
      {"set_attributes",
       [root](const any_store& store, const std::string& key) {
         return text_of(root(store).set_attributes(key, json::object{{"a", 1}}));
       },
       " is not a node: it has no zarr.json, .zarray or .zgroup"},
      {"migrate_to_v3",
       [](const any_store& store, const std::string& key) {
         return text_of(migrate_to_v3(store, key_of(key)));
       },
       " is not a node: it has no zarr.json, .zarray or .zgroup"},
      {"open",
       [](const any_store& store, const std::string& key) {
         return text_of(open({store, key_of(key)}));
       },
       " is not a Zarr hierarchy: it has no zarr.json, .zgroup or .zarray"},
      {"open_sharded",
       [](const any_store& store, const std::string& key) {
         return text_of(open_sharded({store, key_of(key)}, {}));
       },
       " is not a distributed checkpoint"},
      {"megatron::directory::open",
       [](const any_store& store, const std::string& key) {
         return text_of(megatron::directory::open({store, key_of(key)}));
       },
       " is not a distributed checkpoint"},
  };
  return all;
}

/// In a group, "w" is an array of several shards, which lie in "w/c".
void check_store(const any_store& store) {
  for (const entry_point& one : entry_points()) {
    CAPTURE(one.name);
    for (const char* gone : {"gone", "gone/below", "w/gone"}) {
      const std::string said = one.open(store, gone);
      CAPTURE(said);
      CHECK(said.starts_with("not_found: "));
      CHECK(said.ends_with(store.describe(key_of(gone)) + " does not exist"));
    }
    const std::string said = one.open(store, "w/c");
    CAPTURE(said);
    CHECK(said.starts_with("not_found: "));
    CHECK(said.ends_with(store.describe(key_of("w/c")) + one.without));
  }
}

/// Another store of which it is counted how often it is listed, if it can be.
template <bool Lists>
struct counted_store {
  any_store inner;
  std::shared_ptr<int> lists = std::make_shared<int>(0);

  result<std::unique_ptr<blob>> open(const store_key& key) const { return inner.open(key); }
  std::string describe(const store_key& key) const { return inner.describe(key); }
  result<std::vector<list_entry>> list(const store_key& prefix) const requires Lists {
    ++*lists;
    return inner.list(prefix);
  }
};

TEST_CASE("a missing place and a missing document are told apart, in every store") {
  const std::vector<float> w{1, 2, 3, 4};
  const save_options in_chunks{.rules = {{.chunk_shape = dims{1}, .shard_shape = dims{2}}}};
  SUBCASE("a directory") {
    const test::temp_directory dir;
    save(dir / "m.zarr", {{"w", w}}, in_chunks).value();
    check_store(file_store::open(dir / "m.zarr").value());
  }
  SUBCASE("a zip file") {
    const test::temp_directory dir;
    save(dir / "m.zip", {{"w", w}}, in_chunks).value();
    const stored_place at = default_stores::table().open(dir / "m.zip", {}).value();
    REQUIRE(at.key.is_root());
    check_store(at.store);
  }
  SUBCASE("memory") {
    const memory_store store;
    save(store, {{"w", w}}, in_chunks).value();
    check_store(store);
  }
  SUBCASE("a store beneath a key") {
    const memory_store store;
    save({store, key_of("deep/m")}, {{"w", w}}, in_chunks).value();
    check_store(prefix_store(store, key_of("deep/m")));
  }
}

TEST_CASE("a path that is missing, or is an empty directory") {
  const test::temp_directory dir;
  std::filesystem::create_directory(dir.path() / "empty");
  const any_store store = file_store::open(dir.path().string()).value();
  CHECK(text_of(array::open(store, key_of("empty"))).ends_with("no zarr.json or .zarray"));
  CHECK(text_of(open({store, key_of("empty")})).find(" is not a Zarr hierarchy: ") !=
        std::string::npos);
  CHECK(text_of(open_sharded(dir / "none", {})) ==
        "not_found: Checkpoint directory " + (dir / "none") + " does not exist");
  CHECK(text_of(open(dir / "none")).ends_with("No such file or directory"));
  CHECK(text_of(open(dir / "none.zip")).ends_with("No such file or directory"));
}

TEST_CASE("only an error lists what lies beside a place, and only where it can be listed") {
  const memory_store store;
  save({store, key_of("m")}, {{"w", std::vector<float>{1, 2, 3}}}).value();
  const counted_store<true> counted{store};
  array::open(counted, key_of("m/w")).value();
  group::open(counted, key_of("m")).value().open_array("w").value();
  open({counted, key_of("m")}).value();
  open_sharded({counted, key_of("m")}, {}).value();
  CHECK(*counted.lists == 0);
  CHECK(text_of(array::open(counted, key_of("m/v"))) == "not_found: memory:m/v does not exist");
  CHECK(*counted.lists == 2);  // it looks again, since a save may have been between two reads
  const counted_store<false> closed{store};
  CHECK(text_of(array::open(closed, key_of("m/v"))) ==
        "not_found: memory:m/v is not an array: it has no zarr.json or .zarray");
}

TEST_CASE("a group that goes by its consolidated metadata says so") {
  const memory_store store;
  const group root = group::create(store).value();
  root.create_group("a").value();
  root.consolidate().value();
  const group opened =
      group::open(store, store_key::root(), default_context(), metadata_use::consolidated).value();
  CHECK(text_of(opened.open_group("b")) ==
        "not_found: memory:b is not in the consolidated metadata");
}

}}  // namespace missing_place_test
