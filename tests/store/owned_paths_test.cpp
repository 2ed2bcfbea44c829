// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/base/owned_paths.hpp>

#include <doctest/doctest.h>

namespace owned_paths_test {

using namespace zarrpoint;

TEST_CASE("owned_paths: whose a path is") {
  const owned_paths owned{{".zgroup", "a/b", "a/zarr.json", "w"}, {"logs/x", "new"}};
  for (const char* own : {".zgroup", "w", "a/b", "logs/x", "new"}) {
    CAPTURE(own);
    CHECK(owned.owner_of(own) == path_owner::own);
  }
  for (const char* foreign : {"notes.txt", "a/c", "a/b2", "logs/y", "w2", "", "zarr.json"}) {
    CAPTURE(foreign);
    CHECK(owned.owner_of(foreign) == path_owner::foreign);
  }
  CHECK(owned.owner_of("a") == path_owner::mixed);
  CHECK(owned.owner_of("logs") == path_owner::mixed);
}

}  // namespace owned_paths_test
