// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/read_only_store.hpp>
#include <zarrpoint/store/registry.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <vector>

namespace read_only_store_test {

namespace zp = zarrpoint;

TEST_CASE("a read-only store reads and lists, and has nothing that writes") {
  const zp::memory_store base;
  const zp::store_key key = zp::store_key::parse("a/b").value();
  const std::vector<std::byte> data{std::byte{1}, std::byte{2}};
  REQUIRE(base.put(key, data));
  const zp::read_only_store<zp::memory_store> store(base);
  static_assert(!zp::writable_store<zp::read_only_store<zp::memory_store>>);
  CHECK(store.open(key).value()->size() == 2);
  CHECK(store.list(zp::store_key::parse("a").value()).value().size() == 1);
  CHECK(store.describe(key) == base.describe(key));
  const zp::any_store any(store);
  CHECK_FALSE(any.can_write());
  CHECK(any.put(key, data).failure().code == zp::errc::unsupported);
}

TEST_CASE("the scheme of a small loader opens directories and nothing else") {
  const test::temp_directory folder;
  const zp::store_table table = zp::store_registry<zp::read_only_file_scheme>::table();
  const std::string path = folder.path().string();
  CHECK(table.open(path, {}).value().store.can_list());
  CHECK_FALSE(table.open(path, {}).value().store.can_write());
  CHECK(table.open("file://" + path, {}).has_value());
  CHECK(table.open(path, {.write = true}).failure().code == zp::errc::unsupported);
  CHECK(table.open(path + "/x.zip", {}).failure().code == zp::errc::unsupported);
  CHECK(table.open(path + "/none", {}).failure().code == zp::errc::not_found);
}

}  // namespace read_only_store_test
