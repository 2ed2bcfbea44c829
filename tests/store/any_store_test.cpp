// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/cache_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/store/zip/zip_writer.hpp>

#include "support/store_conformance.hpp"
#include "support/toy_store.hpp"

#include <doctest/doctest.h>

namespace any_store_test {

using namespace zarrpoint;

namespace {

/// The least that a store can be: what an HTTP server of static files is.
struct constant_store {
  struct object final : blob {
    std::uint64_t size() const noexcept override { return 5; }
    result<void> read(std::uint64_t offset, mutable_bytes into) const override {
      ZARRPOINT_CHECK(check_range(offset, into.size()));
      const auto from = as_bytes("hello").subspan(offset, into.size());
      std::copy(from.begin(), from.end(), into.begin());
      return {};
    }
    std::string name() const override { return "constant"; }
  };

  result<std::unique_ptr<blob>> open(const store_key& key) const {
    if (key.str() != "a/b") return std::unique_ptr<blob>();
    return std::unique_ptr<blob>(std::make_unique<object>());
  }
  std::string describe(const store_key& key) const { return "constant:" + std::string(key.str()); }
};

/// One that calls all its objects the same.
struct nameless_store : constant_store {
  std::string describe(const store_key&) const { return "nameless"; }
};

/// Abilities that only the run time knows.
struct switched_store : test::toy_store {
  bool writable = false;
  bool can_write() const { return writable; }
};

}  // namespace

TEST_CASE("any_store: is itself a store of every kind") {
  static_assert(readable_store<any_store> && writable_store<any_store>);
  static_assert(listable_store<any_store> && publishable_store<any_store>);
  test::store_conformance([] { return any_store(memory_store()); });
}

TEST_CASE("any_store: a store of the user's own is one file, and passes the kit") {
  static_assert(writable_store<test::toy_store> && !listable_store<test::toy_store>);
  test::store_conformance([] { return test::toy_store(); });
  const any_store store = test::toy_store();
  CHECK(store.can_write());
  CHECK_FALSE(store.can_list());
  CHECK_FALSE(store.can_publish());
}

TEST_CASE("any_store: copies are the same store") {
  const any_store store = test::toy_store();
  const any_store copy = store;
  store.put(test::key("a"), as_bytes("x")).value();
  CHECK(as_text(test::read_object(copy, "a")) == "x");
}

TEST_CASE("any_store: a place beneath another is one of the same store, by any handle") {
  const auto above = [](const any_store& store, const any_store& other) {
    CHECK_FALSE(store.is_above(test::key("a"), other, test::key("a")));
    CHECK_FALSE(store.is_above(test::key("a"), other, test::key("ab")));
    CHECK_FALSE(store.is_above(test::key("a/b"), other, test::key("a")));
    return store.is_above(test::key("a"), other, test::key("a/b"));
  };
  const memory_store memory;
  CHECK(above(memory, memory));
  CHECK_FALSE(above(memory, memory_store()));
  CHECK(above(cache_store(memory), prefix_store(memory, store_key::root())));
  CHECK_FALSE(above(cache_store(memory), memory_store()));
  CHECK(any_store(prefix_store(memory, test::key("a")))
            .is_above(test::key("b"), memory, test::key("a/b/c")));
  const zip_writer archive = zip_writer::begin(memory, test::key("z")).value();
  CHECK(above(archive, archive));
  CHECK_FALSE(above(archive, zip_writer::begin(memory, test::key("z")).value()));
  // Without an identity the names of the keys decide, but for copies of a handle.
  CHECK(any_store(memory).identity() != nullptr);
  CHECK(any_store(constant_store()).identity() == nullptr);
  CHECK(above(constant_store(), constant_store()));
  CHECK_FALSE(above(constant_store(), memory));
  const any_store nameless = nameless_store();
  const any_store copy = nameless;
  CHECK(above(nameless, copy));
  CHECK(nameless.is_above(store_key::root(), copy, test::key("a")));
  CHECK_FALSE(nameless.is_above(store_key::root(), copy, store_key::root()));
}

TEST_CASE("any_store: what the store within cannot do is refused by name") {
  static_assert(readable_store<constant_store> && !writable_store<constant_store>);
  const any_store store = constant_store();
  CHECK(as_text(test::read_object(store, "a/b")) == "hello");
  CHECK(store.open(test::key("c")).value() == nullptr);
  CHECK_FALSE(store.can_write());
  CHECK_FALSE(store.can_list());
  CHECK_FALSE(store.can_publish());
  const store_key key = test::key("a/b");
  for (const auto& refused :
       {store.put(key, {}).failure(), store.create(key).failure(), store.erase(key).failure(),
        store.list(key).failure(), store.stage(key).failure()}) {
    CHECK(refused.code == errc::unsupported);
    CHECK(refused.message.find("constant:a/b") != std::string::npos);
  }
  const auto mapped = store.open(key).value()->map();
  REQUIRE_FALSE(mapped);
  CHECK(mapped.failure().code == errc::unsupported);
}

TEST_CASE("any_store: abilities known at run time are asked for") {
  switched_store store;
  CHECK_FALSE(any_store(store).can_write());
  store.writable = true;
  CHECK(any_store(store).can_write());
}

TEST_CASE("get: whole small objects, within a limit, or nothing") {
  const any_store store = constant_store();
  const store_key key = test::key("a/b");
  CHECK_FALSE(get(store, test::key("none"), 100).value().has_value());
  CHECK(get(store, key, 5).value()->size() == 5);
  const auto refused = get(store, key, 4);
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::resource_limit);
  CHECK(refused.failure().message.find("constant") != std::string::npos);
}

}  // namespace any_store_test
