// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/metadata.hpp>

#include <doctest/doctest.h>

namespace group_metadata_test {

using namespace zarrpoint;

TEST_CASE("a group is compared by what it says") {
  group_metadata a;
  group_metadata b;
  CHECK(a == b);
  b.consolidated.emplace();
  CHECK_FALSE(a == b);
  a.consolidated = b.consolidated;
  a.attributes = json::object{{"x", 1}};
  CHECK_FALSE(a == b);
}

}  // namespace group_metadata_test
