// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/zip/zip_file.hpp>

#include "support/store_conformance.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace zip_file_test {

using namespace zarrpoint;

TEST_CASE("zip_file: replaced as a whole, or not at all") {
  const test::temp_directory directory;
  for (const any_store& base : {any_store(file_store::open(directory.path().string()).value()),
                                any_store(memory_store())}) {
    const zip_file file(base, test::key("x.zip"));
    CHECK(file.open(test::key("a")).value() == nullptr);
    CHECK(file.list(store_key::root()).value().empty());
    {
      const auto staged = file.stage(store_key::root()).value();
      staged->store().put(test::key("a"), as_bytes("first")).value();
      CHECK(base.open(test::key("x.zip")).value() == nullptr);
      staged->commit().value();
      CHECK_FALSE(staged->commit());
    }
    CHECK(as_text(test::read_object(file, "a")) == "first");
    CHECK(file.list(store_key::root()).value() == std::vector<list_entry>{{"a", false}});
    const auto refused = file.stage(store_key::root());
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::already_exists);
    {
      const auto abandoned = file.stage(store_key::root(), {.overwrite = true}).value();
      abandoned->store().put(test::key("b"), as_bytes("lost")).value();
    }
    CHECK(as_text(test::read_object(file, "a")) == "first");
    const auto staged = file.stage(store_key::root(), {.overwrite = true}).value();
    staged->store().put(test::key("b"), as_bytes("second")).value();
    CHECK(test::has_object(file, "a"));
    staged->commit().value();
    CHECK_FALSE(test::has_object(file, "a"));
    CHECK(as_text(test::read_object(file, "b")) == "second");
  }
  CHECK(std::distance(std::filesystem::directory_iterator(directory.path()), {}) == 1);
}

TEST_CASE("zip_file: single objects are not written; another's file is left alone") {
  const memory_store base;
  const zip_file file(base, test::key("x.zip"));
  CHECK_FALSE(file.can_write());
  CHECK(file.can_publish());
  for (const auto& failure :
       {file.put(test::key("a"), {}).failure(), file.create(test::key("a")).failure(),
        file.erase(test::key("a")).failure(), file.stage(test::key("a")).failure()})
    CHECK(failure.code == errc::unsupported);
  base.put(test::key("x.zip"), as_bytes("no archive")).value();
  const auto opened = file.open(test::key("a"));
  REQUIRE_FALSE(opened);
  CHECK(opened.failure().code == errc::corrupt);
}

TEST_CASE("zip_file: two that publish without overwriting: one of them wins") {
  const memory_store base;
  const zip_file file(base, test::key("x.zip"));
  const auto one = file.stage(store_key::root()).value();
  const auto other = file.stage(store_key::root()).value();
  one->commit().value();
  const auto refused = other->commit();
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::already_exists);
}

}  // namespace zip_file_test
