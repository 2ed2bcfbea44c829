// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

namespace name_hierarchies_test {

using namespace zarrpoint;

namespace {

/// What is said of a place "p" with these documents.
std::string told(std::initializer_list<const char*> documents, errc code = errc::not_found) {
  const memory_store store;
  for (const char* document : documents)
    REQUIRE(store.put(store_key::parse(document).value(), as_bytes("{}")));
  return detail::name_hierarchies({code, "none"}, any_store(store), "p").message;
}

}  // namespace

TEST_CASE("name_hierarchies: those that lie beneath a place, and none below them") {
  CHECK(told({}) == "none");
  CHECK(told({"a/b/data.bin"}) == "none");
  CHECK(told({"a/b/.zgroup", "a/b/c/.zarray"}) == "none; open \"p/a/b\", which lies beneath it");
  CHECK(told({"b/zarr.json", "a/.zarray"}) ==
        "none; beneath it are \"a\", \"b\": open one of them, as \"p/a\"");
}

TEST_CASE("name_hierarchies: eight at most are named") {
  const std::string text =
      told({"a0/.zgroup", "a1/.zgroup", "a2/.zgroup", "a3/.zgroup", "a4/.zgroup", "a5/.zgroup",
            "a6/.zgroup", "a7/.zgroup", "a8/.zgroup"});
  CHECK(text.find("\"a7\": open") != text.npos);
  CHECK(text.find("a8") == text.npos);
}

TEST_CASE("name_hierarchies: another failure is left as it is") {
  CHECK(told({"a/.zgroup"}, errc::corrupt) == "none");
}

}  // namespace name_hierarchies_test
