// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/hierarchy/store_tree.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include "support/hierarchy_cases.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <string>

namespace store_tree_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

std::string text_of(const any_store& store, std::string_view key) {
  const auto bytes = get(store, key_of(key), 1 << 20).value();
  return bytes ? std::string(as_text(*bytes)) : std::string("(missing)");
}

}  // namespace

TEST_CASE("store_tree: copied, between stores of every kind, and erased") {
  const test::temp_directory directory;
  const auto files = file_store::open(directory.path().string()).value();
  for (const any_store& source : {any_store(memory_store()), any_store(files)}) {
    for (const any_store& target :
         {any_store(memory_store()), any_store(plain_store()), any_store(files)}) {
      for (const char* name : {"src/zarr.json", "src/c/0/1", "src/deep/x/zarr.json"})
        put_text(source, name, name);
      const std::string large(9'000'000, 'l');
      put_text(source, "src/large", large);
      detail::copy_tree({source, key_of("src")}, {target, key_of("dst/copy")}).value();
      CHECK(text_of(target, "dst/copy/zarr.json") == "src/zarr.json");
      CHECK(text_of(target, "dst/copy/c/0/1") == "src/c/0/1");
      CHECK(text_of(target, "dst/copy/deep/x/zarr.json") == "src/deep/x/zarr.json");
      CHECK(get(target, key_of("dst/copy/large"), large.size()).value()->size() == large.size());
      CHECK(text_of(source, "src/c/0/1") == "src/c/0/1");
      const auto again = detail::copy_tree({source, key_of("src")}, {target, key_of("dst/copy")});
      REQUIRE_FALSE(again);
      CHECK(again.failure().code == errc::already_exists);
      CHECK(detail::copy_tree({source, key_of("nothing")}, {target, key_of("z")}).failure().code ==
            errc::not_found);
      CHECK(detail::erase_tree(target, key_of("dst/copy")).value());
      CHECK_FALSE(detail::erase_tree(target, key_of("dst/copy")).value());
      CHECK(text_of(target, "dst/copy/c/0/1") == "(missing)");
      CHECK(detail::erase_tree(source, key_of("src")).value());
    }
  }
}

TEST_CASE("store_tree: renamed, where the store cannot by copying") {
  for (const any_store& store : {any_store(memory_store()), any_store(plain_store())}) {
    put_text(store, "a/zarr.json", "1");
    put_text(store, "a/b/c", "2");
    put_text(store, "full/x", "3");
    detail::rename_tree(store, key_of("a"), key_of("moved/here")).value();
    CHECK(text_of(store, "moved/here/b/c") == "2");
    CHECK(text_of(store, "a/b/c") == "(missing)");
    CHECK(detail::rename_tree(store, key_of("moved"), key_of("full")).failure().code ==
          errc::already_exists);
    CHECK(detail::rename_tree(store, key_of("gone"), key_of("z")).failure().code ==
          errc::not_found);
    CHECK(detail::rename_tree(store, key_of("moved"), key_of("moved/in")).failure().code ==
          errc::invalid_argument);
    CHECK(text_of(store, "moved/here/b/c") == "2");
  }
}

TEST_CASE("store_tree: of a store that cannot list or write, unsupported") {
  const memory_store memory;
  put_text(memory, "a/b", "x");
  struct only_reads {
    memory_store of;
    result<std::unique_ptr<blob>> open(const store_key& key) const { return of.open(key); }
    std::string describe(const store_key& key) const { return of.describe(key); }
  };
  const any_store reader = only_reads{memory};
  CHECK(detail::copy_tree({reader, key_of("a")}, {memory, key_of("c")}).failure().code ==
        errc::unsupported);
  CHECK(detail::copy_tree({memory, key_of("a")}, {reader, key_of("c")}).failure().code ==
        errc::unsupported);
  CHECK(detail::erase_tree(reader, key_of("a")).failure().code == errc::unsupported);
}

}  // namespace store_tree_test
