// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/hierarchy/migrate.hpp>

#include "support/array_cases.hpp"
#include "support/hierarchy_cases.hpp"

#include <doctest/doctest.h>

#include <string>

namespace migrate_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

bool is_there(const any_store& store, std::string_view key) {
  return store.open(key_of(key)).value() != nullptr;
}

}  // namespace

TEST_CASE("migrate: the same elements by the documents of either format") {
  for (const bool remove : {false, true}) {
    const memory_store store;
    const group root = small_hierarchy(store, 2);
    root.set_attributes("g/h/b", json::object{{"unit", "m"}}).value();
    put_text(store, "f/.zarray",
             R"({"zarr_format":2,"shape":[2,2],"chunks":[1,2],"dtype":">i2","order":"F",
                 "fill_value":null,"filters":null,"compressor":null,"dimension_separator":"/"})");
    put_text(store, "f/0/0", std::string("\x00\x01\x00\x02", 4));
    CHECK(migrate_to_v3(store, store_key::root(), {.dry_run = true}).value().size() == 6);
    CHECK_FALSE(is_there(store, "a/zarr.json"));
    const auto paths = migrate_to_v3(store, store_key::root(), {.remove_v2 = remove}).value();
    CHECK(paths == std::vector<std::string>{"", "a", "f", "g", "g/h", "g/h/b"});
    const group migrated = group::open(store).value();
    CHECK(migrated.zarr_format() == 3);
    CHECK(migrated.attributes() == json(json::object{{"title", "small"}}));
    CHECK(holds_sequence(migrated.open_array("a").value()));
    const array b = migrated.open_array("g/h/b").value();
    CHECK(holds_sequence(b));
    CHECK(b.metadata().zarr_format == 3);
    CHECK(b.metadata().keys == chunk_key_encoding{chunk_key_encoding::style::v2, '.'});
    CHECK(b.metadata().attributes == json(json::object{{"unit", "m"}}));
    const tensor f = migrated.open_array("f").value().read(box::whole({2, 2})).value();
    std::int16_t values[4] = {};
    std::memcpy(values, f.view().data, sizeof values);
    CHECK(values[0] == 1);
    CHECK(values[1] == 2);
    CHECK(values[2] == 0);  // no chunk, and a fill value that was null
    for (const char* old : {".zgroup", ".zattrs", "a/.zarray", "g/h/b/.zattrs"})
      CHECK(is_there(store, old) == !remove);
    const auto again = migrate_to_v3(store, store_key::root());
    REQUIRE_FALSE(again);
    CHECK(again.failure().code == errc::already_exists);
  }
}

TEST_CASE("migrate: levels that v3 does not have become those that they were taken for") {
  const memory_store store;
  const auto migrated_level = [&](const std::string& compressor) {
    put_text(store, "a/.zarray",
             R"({"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"|u1","order":"C",
                 "fill_value":0,"filters":null,"compressor":)" +
                 compressor + "}");
    migrate_to_v3(store, key_of("a")).value();
    context how;
    how.codecs = all_codecs::table();
    const array opened = array::open(store, key_of("a"), how).value();
    store.erase(key_of("a/zarr.json")).value();
    return opened.metadata().codecs.back().configuration.find("level")->to_int64();
  };
  CHECK(migrated_level(R"({"id":"zstd","level":99})") == 22);
  CHECK(migrated_level(R"({"id":"gzip","level":-1})") == 6);
  CHECK(migrated_level(R"({"id":"zlib","level":-1})") == -1);
  CHECK(migrated_level(R"({"id":"gzip","level":1})") == 1);
}

TEST_CASE("migrate: what v3 cannot say is named, and then nothing is written") {
  const memory_store store;
  small_hierarchy(store, 2);
  put_text(store, "g/odd/.zarray",
           R"({"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<i4","order":"C","fill_value":0,
               "filters":null,"compressor":{"id":"nobody-knows"}})");
  const auto refused = migrate_to_v3(store, store_key::root());
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::unsupported);
  CHECK(refused.failure().message.find("g/odd") != std::string::npos);
  CHECK(refused.failure().message.find("nobody-knows") != std::string::npos);
  CHECK_FALSE(is_there(store, "a/zarr.json"));
  CHECK(migrate_to_v3(memory_store(), store_key::root()).failure().code == errc::not_found);
  const auto one = migrate_to_v3(store, key_of("a")).value();
  CHECK(one == std::vector<std::string>{""});
  CHECK(is_there(store, "a/zarr.json"));
}

}  // namespace migrate_test
