// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/prefix_store.hpp>

#include "support/store_conformance.hpp"
#include "support/toy_store.hpp"

#include <doctest/doctest.h>

namespace prefix_store_test {

using namespace zarrpoint;

TEST_CASE("prefix_store: conforms") {
  test::store_conformance([] { return prefix_store(memory_store(), test::key("deep/down")); });
}

TEST_CASE("prefix_store: it sees nothing beside its prefix, and errors name the whole key") {
  const memory_store base;
  const prefix_store store(base, test::key("p"));
  store.put(test::key("a"), test::random_bytes(1)).value();
  base.put(test::key("q"), test::random_bytes(1)).value();
  CHECK(test::has_object(base, "p/a"));
  CHECK_FALSE(test::has_object(store, "q"));
  CHECK(store.describe(test::key("a")) == base.describe(test::key("p/a")));
}

TEST_CASE("prefix_store: its root is not an object, though the other store may have one there") {
  const memory_store base;
  base.put(test::key("p"), test::random_bytes(1)).value();
  const prefix_store store(base, test::key("p"));
  CHECK(store.open(store_key::root()).value() == nullptr);
  CHECK(store.create(store_key::root()).failure().code == errc::invalid_argument);
  CHECK_FALSE(store.erase(store_key::root()).value());
  CHECK(test::has_object(base, "p"));
}

TEST_CASE("prefix_store: can what the other store can") {
  const prefix_store store(test::toy_store(), test::key("p"));
  CHECK(store.can_write());
  CHECK_FALSE(store.can_list());
  CHECK_FALSE(store.can_publish());
  CHECK(store.list(store_key::root()).failure().code == errc::unsupported);
}

TEST_CASE("prefix_store: keys that are too long together are refused") {
  const prefix_store store(memory_store(), test::key("p"));
  const prefix_store nested(store, test::key(std::string(200, 'y')));
  CHECK_FALSE(nested.put(test::key("z/" + std::string(250, 'x') + "/" + std::string(250, 'x') +
                                   "/" + std::string(250, 'x') + "/" + std::string(250, 'x')),
                         {}));
}

}  // namespace prefix_store_test
