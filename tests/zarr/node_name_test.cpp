// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/node_name.hpp>

#include <doctest/doctest.h>

#include <string>

namespace node_name_test {

using namespace zarrpoint;

TEST_CASE("names that may be created") {
  for (const char* name :
       {"w", "layers", "0", "a.b", ".hidden", "...x", "é", "a b", "_x", "zarr"}) {
    CAPTURE(name);
    CHECK(detail::check_node_name(name));
  }
  CHECK(detail::check_node_path("layers/0/w"));
}

TEST_CASE("names that may not") {
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("..."), std::string("a/b"),
        std::string("__x"), std::string("zarr.json"), std::string(".zarray"),
        std::string(".zgroup"), std::string(".zattrs"), std::string(".zmetadata"),
        std::string("a\0b", 3), std::string("\xff")}) {
    CAPTURE(name);
    const auto status = detail::check_node_name(name);
    REQUIRE_FALSE(status);
    CHECK(status.failure().code == errc::invalid_argument);
  }
  for (const char* path : {"", "/", "/a", "a/", "a//b", "a/../b", "../a", "a/.", "a/__b"}) {
    CAPTURE(path);
    CHECK_FALSE(detail::check_node_path(path));
  }
}

TEST_CASE("paths in documents must be safe, and no more than that") {
  CHECK(detail::check_safe_path("a/__b"));
  for (const char* path : {"", "/a", "a/", "a//b", "a/../b", "..", "a/.", "\xff"}) {
    CAPTURE(path);
    CHECK(detail::check_safe_path(path).failure().code == errc::corrupt);
  }
}

}  // namespace node_name_test
