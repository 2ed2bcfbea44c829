// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/registry.hpp>
#include <zarrpoint/store/schemes.hpp>
#include <zarrpoint/store/zip_inflate.hpp>

#include "support/store_conformance.hpp"
#include "support/temp_directory.hpp"
#include "support/zip_bytes.hpp"

#include <doctest/doctest.h>

#include <string>

namespace registry_test {

using namespace zarrpoint;

namespace {

/// A scheme of a user's own.
struct toy_scheme {
  static constexpr std::string_view name = "toy";
  static result<stored_place> open(const url& at, const place_use& use) {
    const memory_store store;
    ZARRPOINT_CHECK(store.put(test::key("what"), as_bytes(at.rest + (use.write ? "!" : ""))));
    return stored_place{store, store_key::root()};
  }
};

}  // namespace

TEST_CASE("store_registry: paths and URLs of files") {
  const test::temp_directory directory;
  const auto stores = default_stores::table();
  test::write_file(directory / "a b.txt", "x");
  test::write_file(directory / "x.zip", test::zip_of({{"a", "x"}}));
  const std::string path = directory.path().string();
  for (const std::string& text : {path, "file://" + path, "FILE://localhost" + path})
    CHECK(test::has_object(stores.open(text, {}).value().store, "a b.txt"));
  for (const std::string& text :
       {path + "/x.zip", "file://" + path + "/x.zip", "zip://" + path + "/x%2Ezip"})
    CHECK(test::has_object(stores.open(text, {}).value().store, "a"));
  CHECK(stores.open(path + "/new.zip", {.write = true}).value().key.is_root());
  CHECK(stores.open(path + "/new", {.write = true}).value().key.str() == "new");
}

TEST_CASE("store_registry: schemes are added and replaced, unknown ones are named") {
  const auto unknown = default_stores::table().open("s3://bucket/key", {});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.failure().code == errc::unsupported);
  CHECK(unknown.failure().message.find("\"s3://\"") != std::string::npos);
  CHECK(unknown.failure().message.find("file:// zip://") != std::string::npos);

  using more = default_stores::with<toy_scheme, zip_inflate_scheme>;
  static_assert(more::entries.size() == 3);
  const auto place = more::table().open("toy://x%20/y", {.write = true}).value();
  CHECK(as_text(test::read_object(place.store, "what")) == "x%20/y!");
  CHECK(store_table().open("/", {}).failure().code == errc::unsupported);
}

TEST_CASE("store_registry: with zip_inflate_scheme deflated members of paths are read") {
  const test::temp_directory directory;
  // "hello" as a stored block of deflate.
  const std::string block("\x01\x05\x00\xfa\xffhello", 10);
  test::write_file(directory / "x.zip",
                   test::zip_of({{"a", block, 8, 5, detail::crc32(0, as_bytes("hello"))}}));
  const std::string path = directory / "x.zip";
  const auto without = default_stores::table().open(path, {}).value();
  CHECK(without.store.open(test::key("a")).failure().code == errc::unsupported);
  const auto with = default_stores::with<zip_inflate_scheme>::table().open(path, {}).value();
  CHECK(as_text(test::read_object(with.store, "a")) == "hello");
}

}  // namespace registry_test
