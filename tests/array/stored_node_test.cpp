// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/hierarchy/stored_node.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/hierarchy_cases.hpp"

#include <doctest/doctest.h>

namespace stored_node_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("stored_node: documents of both formats, v3 before v2") {
  const memory_store store;
  const auto at = [&](std::string_view key) {
    return detail::read_stored_node(store, key_of(key), limits{}).value();
  };
  CHECK_FALSE(at("x").has_value());
  put_text(store, "x/.zgroup", R"({"zarr_format":2})");
  put_text(store, "x/.zattrs", R"({"k":1})");
  CHECK(at("x")->kind == node_kind::group);
  CHECK(at("x")->zarr_format == 2);
  CHECK(detail::parse_group(*at("x")).value().attributes == json(json::object{{"k", 1}}));
  CHECK(detail::parse_array(*at("x")).failure().code == errc::corrupt);
  put_text(store, "x/zarr.json", R"({"zarr_format":3,"node_type":"group","attributes":{"k":2}})");
  CHECK(at("x")->zarr_format == 3);
  CHECK(detail::parse_group(*at("x")).value().attributes == json(json::object{{"k", 2}}));
}

TEST_CASE("stored_node: an empty .zarray is the lock file of a synchronizer, not an array") {
  const memory_store store;
  put_text(store, "lock/.zarray", "");
  CHECK_FALSE(detail::read_stored_node(store, key_of("lock"), limits{}).value().has_value());
}

TEST_CASE("stored_node: what must be understood and is not, and damage, are errors") {
  const memory_store store;
  put_text(store, "a/zarr.json",
           R"({"zarr_format":3,"node_type":"group","new":{"must_understand":false}})");
  put_text(store, "b/zarr.json", R"({"zarr_format":3,"node_type":"group","new":{}})");
  const auto parsed = [&](std::string_view key) {
    return detail::parse_group(*detail::read_stored_node(store, key_of(key), limits{}).value());
  };
  CHECK(parsed("a"));
  CHECK(parsed("b").failure().code == errc::unsupported);
  for (const char* text : {"{", "[]", R"({"zarr_format":3})", R"({"node_type":"group"})"}) {
    put_text(store, "c/zarr.json", text);
    const auto read = detail::read_stored_node(store, key_of("c"), limits{});
    REQUIRE_FALSE(read);
    CHECK(read.failure().code == errc::corrupt);
    CHECK(read.failure().message.find("c/zarr.json") != std::string::npos);
  }
  const auto large = detail::read_stored_node(store, key_of("a"), limits{.metadata_bytes = 10});
  CHECK(large.failure().code == errc::resource_limit);
}

TEST_CASE("stored_node: groups are written, attributes of v2 taken away with the last of them") {
  const memory_store store;
  detail::put_group(store, key_of("g"), {2, json::object{{"k", 1}}, {}}).value();
  CHECK(store.open(key_of("g/.zattrs")).value() != nullptr);
  detail::put_v2_attributes(store, key_of("g"), json()).value();
  CHECK(store.open(key_of("g/.zattrs")).value() == nullptr);
  detail::put_v2_attributes(store, key_of("g"), json()).value();
  detail::put_group(store, key_of("h"), {3, json(), {}}).value();
  CHECK(detail::read_stored_node(store, key_of("h"), limits{}).value()->zarr_format == 3);
}

}  // namespace stored_node_test
