// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/config.hpp>

#include <doctest/doctest.h>

namespace {

ZARRPOINT_HOST_DEVICE int twice(int value) { return 2 * value; }

}  // namespace

TEST_CASE("config: exceptions are noticed; assertions pass what holds; functions stay functions") {
#if ZARRPOINT_EXCEPTIONS
  CHECK_THROWS_AS(throw 1, int);
#endif
  ZARRPOINT_ASSERT(twice(2) == 4);
  CHECK(twice(3) == 6);
}
