// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/config.hpp>

#include <doctest/doctest.h>

namespace config_test {

TEST_CASE("config: exceptions are noticed; assertions pass what holds") {
#if ZARRPOINT_EXCEPTIONS
  CHECK_THROWS_AS(throw 1, int);
#endif
  ZARRPOINT_ASSERT(1 + 1 == 2);
}

}  // namespace config_test
