// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/hierarchy/stored_node.hpp>

#include "support/hierarchy_cases.hpp"

#include <doctest/doctest.h>

#include <string>

namespace node_walk_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("node_walk: children by name, all nodes by depth; what is not a node is passed over") {
  for (const int format : {2, 3}) {
    const memory_store store;
    small_hierarchy(store, format);
    put_text(store, "lock/.zarray", "");
    put_text(store, "folder/file", "x");
    put_text(store, "__reserved/zarr.json", R"({"zarr_format":3,"node_type":"group"})");
    put_text(store, "g/README", "x");
    CHECK(paths_of(detail::list_nodes(store, store_key::root()).value()) ==
          std::vector<std::string>{"a", "g"});
    CHECK(paths_of(detail::list_nodes(store, key_of("g")).value()) ==
          std::vector<std::string>{"h"});
    const auto all = detail::walk_nodes(store, store_key::root()).value();
    CHECK(paths_of(all) == std::vector<std::string>{"a", "g", "g/h", "g/h/b"});
    for (const stored_node& one : all) CHECK(one.zarr_format == format);
    CHECK(all[0].kind == node_kind::array);
    CHECK(all[2].kind == node_kind::group);
    CHECK(paths_of(detail::walk_nodes(store, key_of("g")).value()) ==
          std::vector<std::string>{"h", "h/b"});
  }
}

TEST_CASE("node_walk: too deep is an error, and so is a damaged document") {
  const memory_store store;
  std::string path = "d";
  for (int depth = 0; depth < 80; ++depth, path += "/d")
    put_text(store, path + "/zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  CHECK(detail::walk_nodes(store, store_key::root()).failure().code == errc::resource_limit);
  const memory_store damaged;
  put_text(damaged, "a/zarr.json", "{");
  CHECK(detail::list_nodes(damaged, store_key::root()).failure().code == errc::corrupt);
}

TEST_CASE("node_walk: consolidated metadata of both formats") {
  const memory_store store;
  const auto read = [&]() {
    const auto root = detail::read_stored_node(store, store_key::root(), limits{}).value();
    return detail::consolidated_nodes(store, store_key::root(), *root);
  };
  put_text(store, ".zgroup", R"({"zarr_format":2})");
  CHECK_FALSE(read().value().has_value());
  put_text(store, ".zmetadata",
           R"({"zarr_consolidated_format":1,"metadata":{".zgroup":{"zarr_format":2},
               "g/h/.zgroup":{"zarr_format":2},"g/.zgroup":{"zarr_format":2},
               "g/.zattrs":{"k":1}}})");
  const auto v2 = *read().value();
  CHECK(paths_of(v2) == std::vector<std::string>{"g", "g/h"});
  CHECK(v2[0].attributes == json(json::object{{"k", 1}}));
  put_text(store, ".zmetadata", R"({"zarr_consolidated_format":2,"metadata":{}})");
  CHECK(read().failure().code == errc::unsupported);

  put_text(store, "zarr.json", R"({"zarr_format":3,"node_type":"group",
      "consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{
      "b/c":{"zarr_format":3,"node_type":"group"},"b":{"zarr_format":3,"node_type":"group"}}}})");
  CHECK(paths_of(*read().value()) == std::vector<std::string>{"b", "b/c"});
  for (const char* bad : {R"("b":3)", R"("../b":{"zarr_format":3,"node_type":"group"})",
                          R"("b":{"zarr_format":3,"node_type":"other"})"}) {
    put_text(store, "zarr.json",
             R"({"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"inline",
                "must_understand":false,"metadata":{)" +
                 std::string(bad) + "}}}");
    CHECK(read().failure().code == errc::corrupt);
  }
}

}  // namespace node_walk_test
