// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/memory_store.hpp>

#include "support/store_conformance.hpp"

#include <doctest/doctest.h>

using namespace zarrpoint;

TEST_CASE("memory_store: conforms") {
  static_assert(listable_store<memory_store> && publishable_store<memory_store>);
  test::store_conformance([] { return memory_store(); });
}

TEST_CASE("memory_store: copies are one store, and a blob keeps what it was opened on") {
  const memory_store store;
  const memory_store copy = store;
  copy.put(test::key("a"), test::random_bytes(3)).value();
  const auto object = store.open(test::key("a")).value();
  const mapping mapped = object->map().value();
  store.put(test::key("a"), test::random_bytes(5)).value();
  CHECK(object->size() == 3);
  CHECK(mapped.bytes().size() == 3);
  CHECK(copy.open(test::key("a")).value()->size() == 5);
}

TEST_CASE("memory_store: no names for errors but its own, no reading and writing of the root") {
  const memory_store store;
  CHECK(store.describe(test::key("a/b")) == "memory:a/b");
  CHECK(store.open(store_key::root()).value() == nullptr);
  CHECK(store.create(store_key::root()).failure().code == errc::invalid_argument);
  CHECK_FALSE(store.erase(store_key::root()).value());
}

TEST_CASE("memory_store: an object larger than memory is an error, not a crash") {
  const memory_store store;
  const auto writer = store.create(test::key("a")).value();
  CHECK(writer->write(UINT64_MAX, test::random_bytes(1)).failure().code == errc::out_of_range);
#if ZARRPOINT_EXCEPTIONS && !defined(ZARRPOINT_TEST_SANITIZED)
  // The sanitizers end the process at such a request.
  const auto refused = writer->write(std::uint64_t{1} << 62, test::random_bytes(1));
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::resource_limit);
  CHECK(refused.failure().message.find("memory:a") != std::string::npos);
#endif
  writer->write(0, test::random_bytes(7)).value();
  writer->finish().value();
  CHECK(test::read_object(store, "a").size() == 7);
  CHECK(writer->finish().failure().code == errc::invalid_argument);
}

TEST_CASE("memory_store: a published tree takes the place of an object, and of the root") {
  const memory_store store;
  store.put(test::key("m"), test::random_bytes(1)).value();
  store.put(test::key("m-other"), test::random_bytes(1)).value();
  CHECK(store.stage(test::key("m")).failure().code == errc::already_exists);
  const auto staged = store.stage(test::key("m"), {.overwrite = true}).value();
  staged->store().put(test::key("x"), test::random_bytes(1)).value();
  staged->commit().value();
  CHECK_FALSE(test::has_object(store, "m"));
  CHECK(test::has_object(store, "m/x"));
  CHECK(test::has_object(store, "m-other"));
  const auto whole = store.stage(store_key::root(), {.overwrite = true}).value();
  whole->store().put(test::key("y"), test::random_bytes(1)).value();
  whole->commit().value();
  CHECK(store.list(store_key::root()).value() == std::vector<list_entry>{{"y", false}});
}
