// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/document/commit_document.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace names_test {

using namespace zarrpoint;
using names = std::vector<std::string_view>;

TEST_CASE("every proper prefix of a name is a group") {
  const names leaves{"a/b/c", "a/d", "e"};
  CHECK(groups_of(leaves).value() == std::vector<std::string>{"a", "a/b"});
  CHECK(groups_of(names{}).value().empty());
}

TEST_CASE("groups that hold no leaf are named, with their parents") {
  const names leaves{"a/b", "e"};
  const std::vector<std::string> empty{"a", "c/d"};
  CHECK(groups_of(leaves, empty).value() == std::vector<std::string>{"a", "c", "c/d"});
  const auto message = [&](std::string group) {
    const std::vector<std::string> one{std::move(group)};
    const auto groups = groups_of(leaves, one);
    REQUIRE_FALSE(groups);
    return groups.failure().message;
  };
  CHECK(message("e").find("\"e\" cannot be a leaf: other leaves lie below that name") !=
        std::string::npos);
  CHECK(message("e/x").find("\"e\" cannot be a leaf: other leaves lie below that name") !=
        std::string::npos);
  CHECK(message("x/..").find("group \"x/..\"") != std::string::npos);
}

TEST_CASE("groups of many leaves, in no order, are told once each, sorted") {
  std::vector<std::string> texts;
  for (int i = 0; i < 5000; ++i)
    texts.push_back("g" + std::to_string(i % 1700) + "/w" + std::to_string(i));
  const auto groups = groups_of(names(texts.begin(), texts.end())).value();
  CHECK(groups.size() == 1700);
  CHECK(std::is_sorted(groups.begin(), groups.end()));
}

TEST_CASE("names that cannot be told apart or written are refused, by name") {
  const auto message = [](const names& leaves) {
    const auto groups = groups_of(leaves);
    REQUIRE_FALSE(groups);
    CHECK(groups.failure().code == errc::invalid_argument);
    return groups.failure().message;
  };
  CHECK(message({"a", "a"}).find("\"a\" is named twice") != std::string::npos);
  CHECK(message({"a", "a/b"}).find("\"a\" cannot be a leaf: other leaves lie below that name") !=
        std::string::npos);
  CHECK(message({"a/b/c", "a/b"})
            .find("\"a/b\" cannot be a leaf: other leaves lie below that name") !=
        std::string::npos);
  for (const std::string_view bad :
       {"", "/a", "a/", "a//b", "..", "a/../b", ".", "__x", "zarr.json", "a/.zarray"}) {
    CAPTURE(bad);
    CHECK_FALSE(groups_of(names{bad}));
  }
}

}  // namespace names_test
