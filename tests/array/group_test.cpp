// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/group.hpp>
#include <zarrpoint/array/hierarchy/store_tree.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "support/hierarchy_cases.hpp"
#include "support/recording_store.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <string>

namespace group_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

json document_at(const any_store& store, std::string_view key) {
  return parse_json(*get(store, key_of(key), 1 << 20).value()).value();
}
bool is_there(const any_store& store, std::string_view key) {
  return store.open(key_of(key)).value() != nullptr;
}

}  // namespace

TEST_CASE("group: created with the groups above, opened, walked, in both formats and two stores") {
  const test::temp_directory directory;
  for (const int format : {2, 3}) {
    for (const any_store& store :
         {any_store(memory_store()),
          any_store(file_store::open(directory / ("v" + std::to_string(format)), {.create = true})
                        .value())}) {
      const group root = small_hierarchy(store, format);
      CHECK(root.zarr_format() == format);
      CHECK(root.attributes() == json(json::object{{"title", "small"}}));
      CHECK(is_there(store, format == 3 ? "g/zarr.json" : "g/.zgroup"));
      const group again = group::open(store).value();
      CHECK(again.attributes() == root.attributes());
      CHECK(paths_of(again.members().value()) == std::vector<std::string>{"a", "g"});
      CHECK(paths_of(again.walk().value()) == std::vector<std::string>{"a", "g", "g/h", "g/h/b"});
      CHECK(holds_sequence(again.open_array("g/h/b").value()));
      const group inner = again.open_group("g").value();
      CHECK(inner.key().str() == "g");
      CHECK(paths_of(inner.members().value()) == std::vector<std::string>{"h"});
      CHECK(again.find("g/h/b").value()->kind == node_kind::array);
      CHECK_FALSE(again.find("g/x").value().has_value());
      CHECK(again.open_group("a").failure().code == errc::invalid_argument);
      CHECK(again.open_array("g").failure().code == errc::invalid_argument);
      CHECK(again.open_array("nothing").failure().code == errc::not_found);
      CHECK(again.open_group("nothing").failure().code == errc::not_found);
      CHECK(again.open_array("../a").failure().code == errc::invalid_argument);
    }
  }
}

TEST_CASE("group: what cannot be created") {
  const memory_store store;
  const group root = small_hierarchy(store, 3);
  CHECK(group::create(store).failure().code == errc::already_exists);
  CHECK(group::create(store, key_of("x"), {.zarr_format = 4}).failure().code ==
        errc::invalid_argument);
  CHECK(root.create_group("g").failure().code == errc::already_exists);
  CHECK(root.create_array("a", small_array(3)).failure().code == errc::already_exists);
  CHECK(root.create_group("a").failure().code == errc::already_exists);
  CHECK(root.create_array("g", small_array(3)).failure().code == errc::already_exists);
  CHECK(root.create_array("new", small_array(2)).failure().code == errc::invalid_argument);
  CHECK(root.create_group("a/beneath").failure().code == errc::invalid_argument);
  for (const char* name :
       {"", "__x", "zarr.json", ".zarray", "x/__y", "..", "a//b", "/a", "x/", "..."})
    CHECK(root.create_group(name).failure().code == errc::invalid_argument);
  CHECK(root.create_group("bad", json("text")).failure().code == errc::invalid_argument);
  CHECK(group::open(memory_store()).failure().code == errc::not_found);
  CHECK(group::open(store, key_of("a")).failure().code == errc::invalid_argument);
}

TEST_CASE("group: attributes are replaced, and nothing else of the document") {
  const memory_store store;
  put_text(store, "zarr.json", R"({"zarr_format":3,"node_type":"group",
      "attributes":{"old":1},"extra":{"must_understand":false,"kept":true}})");
  group root = group::open(store).value();
  root.set_attributes(json::object{{"new", 2.5}}).value();
  CHECK(root.attributes() == json(json::object{{"new", 2.5}}));
  CHECK(group::open(store).value().attributes() == root.attributes());
  CHECK(document_at(store, "zarr.json").find("extra")->find("kept") != nullptr);
  CHECK(root.set_attributes(json(3)).failure().code == errc::invalid_argument);
  CHECK(root.attributes() == json(json::object{{"new", 2.5}}));
  root.set_attributes(json()).value();
  CHECK(group::open(store).value().attributes().is_null());

  for (const int format : {2, 3}) {
    const memory_store other;
    const group of = small_hierarchy(other, format);
    of.set_attributes("g/h/b", json::object{{"unit", "m"}}).value();
    CHECK(of.open_array("g/h/b").value().metadata().attributes ==
          json(json::object{{"unit", "m"}}));
    CHECK(holds_sequence(of.open_array("g/h/b").value()));
    of.set_attributes("g", json::object{{"k", 1}}).value();
    CHECK(of.open_group("g").value().attributes() == json(json::object{{"k", 1}}));
    CHECK(of.set_attributes("nothing", json()).failure().code == errc::not_found);
  }
}

TEST_CASE("group: erase, rename and copy, with all beneath") {
  const test::temp_directory directory;
  for (const int format : {2, 3}) {
    for (const any_store& store :
         {any_store(memory_store()),
          any_store(file_store::open(directory / ("v" + std::to_string(format)), {.create = true})
                        .value())}) {
      const group root = small_hierarchy(store, format);
      root.rename("g/h", "moved/deep/h").value();
      CHECK(paths_of(root.walk().value()) == std::vector<std::string>{"a", "g", "moved",
                                                                      "moved/deep", "moved/deep/h",
                                                                      "moved/deep/h/b"});
      CHECK(holds_sequence(root.open_array("moved/deep/h/b").value()));
      CHECK(root.rename("a", "g").failure().code == errc::already_exists);
      CHECK(root.rename("nothing", "x").failure().code == errc::not_found);
      CHECK(root.rename("moved", "moved/x").failure().code == errc::invalid_argument);
      CHECK(root.rename("a", "__a").failure().code == errc::invalid_argument);

      root.copy("moved/deep", root, "g/copy").value();
      CHECK(holds_sequence(root.open_array("g/copy/h/b").value()));
      CHECK(root.copy("a", root, "g/copy").failure().code == errc::already_exists);
      CHECK(root.copy("moved", root, "moved/in").failure().code == errc::invalid_argument);
      const group other = group::create(memory_store(), store_key::root(), {format, {}}).value();
      root.copy("g", other, "from/there").value();
      CHECK(holds_sequence(other.open_array("from/there/copy/h/b").value()));
      const group wrong =
          group::create(memory_store(), store_key::root(), {5 - format, {}}).value();
      CHECK(root.copy("a", wrong, "a").failure().code == errc::invalid_argument);

      CHECK(root.erase("moved").value());
      CHECK_FALSE(root.erase("moved").value());
      CHECK(paths_of(root.members().value()) == std::vector<std::string>{"a", "g"});
      CHECK(root.erase("").failure().code == errc::invalid_argument);
      // The name is free again.
      fill_array(root.create_array("moved", small_array(format)).value());
      CHECK(holds_sequence(root.open_array("moved").value()));
    }
  }
}

TEST_CASE("group: a copy goes into another store, but not into itself by another handle") {
  const memory_store one, two;
  const group root = small_hierarchy(one, 3);
  const group other = group::create(two).value();
  root.copy("g", other, "g/inner").value();
  CHECK(holds_sequence(other.open_array("g/inner/h/b").value()));
  CHECK(root.copy("g", group::open(one).value(), "g/inner").failure().code ==
        errc::invalid_argument);
  CHECK(root.copy("g", group::open(one, key_of("g")).value(), "inner").failure().code ==
        errc::invalid_argument);
  CHECK_FALSE(root.find("g/inner").value().has_value());
}

TEST_CASE("group: consolidated metadata are written as zarr-python does, and used when asked for") {
  for (const int format : {2, 3}) {
    const memory_store memory;
    const group root = small_hierarchy(memory, format);
    root.set_attributes("g/h/b", json::object{{"unit", "m"}}).value();
    CHECK_FALSE(group::open(memory, store_key::root(), {}, metadata_use::consolidated)
                    .value()
                    .is_consolidated());
    root.consolidate().value();
    if (format == 3) {
      const json document = document_at(memory, "zarr.json");
      const json& inlined = *document.find("consolidated_metadata");
      CHECK(*inlined.find("kind") == json("inline"));
      CHECK(*inlined.find("must_understand") == json(false));
      CHECK(inlined.find("metadata")->if_object()->size() == 4);
      CHECK(*inlined.find("metadata")->find("g/h/b") == document_at(memory, "g/h/b/zarr.json"));
      CHECK(*inlined.find("metadata")->find("g")->find("consolidated_metadata") ==
            json(json::object{
                {"kind", "inline"}, {"must_understand", false}, {"metadata", json::object{}}}));
      CHECK(document_at(memory, "g/zarr.json").find("consolidated_metadata") == nullptr);
    } else {
      const json document = document_at(memory, ".zmetadata");
      CHECK(*document.find("zarr_consolidated_format") == json(1));
      CHECK(*document.find("metadata")->find("g/h/b/.zattrs") == json(json::object{{"unit", "m"}}));
    }
    // A root that was consolidated before stays one document deep.
    root.consolidate().value();

    recording_store store;
    detail::for_each_object(memory, store_key::root(), [&](const std::string& key) {
      store.set(key, *get(memory, key_of(key), 1 << 20).value());
      return result<void>();
    }).value();
    const group opened =
        group::open(store, store_key::root(), {}, metadata_use::consolidated).value();
    CHECK(opened.is_consolidated());
    const std::uint64_t opens = store->opens;
    CHECK(paths_of(opened.walk().value()) == paths_of(root.walk().value()));
    CHECK(paths_of(opened.members().value()) == std::vector<std::string>{"a", "g"});
    const group inner = opened.open_group("g/h").value();
    CHECK(paths_of(inner.walk().value()) == std::vector<std::string>{"b"});
    const array b = inner.open_array("b").value();
    CHECK(b.metadata().attributes == json(json::object{{"unit", "m"}}));
    CHECK(store->opens == opens);
    CHECK(holds_sequence(b));
    CHECK(opened.open_array("x").failure().code == errc::not_found);
  }
}

}  // namespace group_test
