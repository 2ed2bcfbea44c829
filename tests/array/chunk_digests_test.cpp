// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/base/chunk_digests.hpp>

#include <doctest/doctest.h>

namespace chunk_digests_test { namespace {

using namespace zarrpoint;

TEST_CASE("digests are found by key and sorted") {
  chunk_digests digests;
  CHECK(digests.empty());
  digests.set("c/1", {8, {7U}});
  digests.set("c/0", {});
  digests.set("c/1", {16, {7U, std::nullopt}});
  REQUIRE(digests.find("c/1") != nullptr);
  CHECK(digests.find("c/1")->size == 16);
  CHECK_FALSE(digests.find("c/1")->absent());
  CHECK(digests.find("c/0")->absent());
  CHECK(digests.find("c/2") == nullptr);
  CHECK(digests.objects().begin()->first == "c/0");
  chunk_digests same;
  same.set("c/0", {});
  CHECK_FALSE(same == digests);
  same.set("c/1", {16, {7U, std::nullopt}});
  CHECK(same == digests);
}

}}  // namespace chunk_digests_test
