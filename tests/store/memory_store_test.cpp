// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/memory_store.hpp>

#include "support/store_conformance.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#if ZARRPOINT_EXCEPTIONS && !defined(ZARRPOINT_TEST_SANITIZED)
namespace {
thread_local int allocations_left = -1;  // then one fails; below 0: none does
}

void* operator new(std::size_t size) {
  if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace memory_store_test {

using namespace zarrpoint;

#if ZARRPOINT_EXCEPTIONS && !defined(ZARRPOINT_TEST_SANITIZED)

TEST_CASE("memory_store: whichever allocation fails, a commit or a finish is done or not done") {
  const std::string prefix(100, 'm');  // long, so that every key is an allocation
  const std::string object(100, 'o');
  for (int fails_at = 0;; ++fails_at) {
    REQUIRE(fails_at < 1000);
    const memory_store store;
    for (const char* name : {"/old/1", "/old/2", "/old/3"})
      store.put(test::key(prefix + name), test::random_bytes(3)).value();
    const auto staged = store.stage(test::key(prefix), {.overwrite = true}).value();
    for (const char* name : {"new/1", "new/2"})
      staged->store().put(test::key(name), test::random_bytes(3)).value();
    const auto writer = store.create(test::key(object)).value();
    writer->write(0, test::random_bytes(3)).value();

    allocations_left = fails_at;
    const auto committed = staged->commit();
    const bool commit_failed = allocations_left < 0;
    const auto finished = writer->finish();
    const bool all_succeeded = allocations_left >= 0;
    allocations_left = -1;

    CHECK(committed.has_value() == !commit_failed);
    CHECK(finished.has_value() == (commit_failed || all_succeeded));
    for (const auto& outcome : {committed, finished})
      if (!outcome) CHECK(outcome.failure().code == errc::resource_limit);
    CHECK(store.list(test::key(prefix + "/old")).value().size() == (committed ? 0U : 3U));
    CHECK(store.list(test::key(prefix + "/new")).value().size() == (committed ? 2U : 0U));
    CHECK(test::has_object(store, object) == finished.has_value());
    if (!committed) {
      CHECK(staged->commit());
      CHECK(test::read_object(store, prefix + "/new/1") == test::random_bytes(3));
    }
    if (all_succeeded) break;
  }
}
#endif

TEST_CASE("memory_store: a listing joins what has one name, and is fast") {
  const memory_store store;
  for (int i = 0; i < 20000; ++i) store.put(test::key("d/" + std::to_string(i)), {}).value();
  CHECK(store.list(test::key("d")).value().size() == 20000);
  for (const char* name : {"a", "a-b", "a/b", "a/c", "b/x", "b-", "c"})
    store.put(test::key(name), {}).value();
  CHECK(store.list(store_key::root()).value() ==
        std::vector<list_entry>{
            {"a", true}, {"a-b", false}, {"b", true}, {"b-", false}, {"c", false}, {"d", true}});
}

TEST_CASE("memory_store: what was published stays readable where it was staged") {
  const memory_store store;
  const auto staged = store.stage(test::key("m")).value();
  staged->store().put(test::key("x"), test::random_bytes(3)).value();
  staged->commit().value();
  CHECK(test::read_object(staged->store(), "x") == test::random_bytes(3));
}

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

}  // namespace memory_store_test
