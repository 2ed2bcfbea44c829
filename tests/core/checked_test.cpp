// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/checked.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

namespace checked_test {

namespace zp = zarrpoint;

TEST_CASE("checked: sums and products of 8 bits, all of them, against wider ones") {
  for (int a = -128; a < 128; ++a) {
    for (int b = -128; b < 128; ++b) {
      const auto x = static_cast<std::int8_t>(a);
      const auto y = static_cast<std::int8_t>(b);
      const auto sum = zp::checked_add(x, y);
      REQUIRE(sum.has_value() == (a + b >= -128 && a + b < 128));
      if (sum) REQUIRE(*sum == a + b);
      const auto product = zp::checked_mul(x, y);
      REQUIRE(product.has_value() == (a * b >= -128 && a * b < 128));
      if (product) REQUIRE(*product == a * b);
    }
  }
  CHECK(zp::checked_add(SIZE_MAX, 1).failure().code == zp::errc::out_of_range);
  CHECK(zp::checked_mul(SIZE_MAX, 2).failure().code == zp::errc::out_of_range);
}

TEST_CASE("ceil_div and checked_round_up: against loops, and at the end of the range") {
  for (unsigned a = 0; a < 60; ++a) {
    for (unsigned b = 1; b < 20; ++b) {
      unsigned steps = 0;
      while (steps * b < a) ++steps;
      CHECK(zp::ceil_div(a, b) == steps);
      CHECK(zp::detail::checked_round_up(a, b).value() == steps * b);
    }
  }
  CHECK(zp::ceil_div(INT64_MAX, 2) == INT64_MAX / 2 + 1);
  CHECK(zp::detail::checked_round_up(SIZE_MAX - 1, 2).value() == SIZE_MAX - 1);
  CHECK_FALSE(zp::detail::checked_round_up(SIZE_MAX, 2));
}

}  // namespace checked_test
