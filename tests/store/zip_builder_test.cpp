// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/zip/zip_builder.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>

#include "support/store_conformance.hpp"

#include <doctest/doctest.h>

namespace zip_builder_test {

using namespace zarrpoint;

TEST_CASE("zip_builder: members by name; the room of what is replaced is free when nobody has it") {
  const memory_store store;
  detail::zip_builder builder(store.create(test::key("z")).value(), "z");
  const auto made = [&] {
    return std::make_shared<detail::zip_builder::member>(builder.space(),
                                                         builder.space().allocate(60, 100, 64));
  };
  builder.insert(test::key("a/b"), made()).value();
  CHECK(builder.find("a") == nullptr);
  auto held = builder.find("a/b");
  REQUIRE(held != nullptr);
  CHECK(held->extent.header == 0);
  builder.insert(test::key("a/b"), made()).value();
  CHECK(builder.find("a/b")->extent.header != 0);
  const auto third = made();
  CHECK(third->extent.header > builder.find("a/b")->extent.header);
  held.reset();
  CHECK(made()->extent.header == 0);
  CHECK(builder.list(test::key("a")) == std::vector<list_entry>{{"b", false}});
  CHECK(builder.erase(test::key("a/b")));
  CHECK_FALSE(builder.erase(test::key("a/b")));
}

TEST_CASE("zip_builder: it is finished once, and by nobody who still writes") {
  const memory_store store;
  detail::zip_builder builder(store.create(test::key("z")).value(), "z");
  builder.writer_opened();
  CHECK_FALSE(builder.finish());
  builder.writer_closed();
  builder.finish().value();
  CHECK_FALSE(builder.finish());
  CHECK(builder.insert(test::key("a"), nullptr).failure().code == errc::invalid_argument);
  CHECK(zip_store::open(store, test::key("z")).value().list(store_key::root()).value().empty());
}

}  // namespace zip_builder_test
