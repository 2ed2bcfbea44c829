// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/box.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace box_test {

namespace zp = zarrpoint;

TEST_CASE("box: whole, empty, text") {
  CHECK(zp::box::whole({3, 4}) == zp::box{{0, 0}, {3, 4}});
  CHECK(zp::box::whole({3, 0}).empty());
  CHECK_FALSE(zp::box::whole({}).empty());
  CHECK(zp::box{{0, 0}, {1, 2}}.rank() == 2);
  CHECK(zp::to_string(zp::box{{2, 0}, {3, 7}}) == "[2:5, 0:7]");
  CHECK(zp::to_string(zp::box{}) == "[]");
}

TEST_CASE("selection: check against point by point in one dimension") {
  for (zp::index_t bound = 0; bound < 5; ++bound) {
    for (zp::index_t first = 0; first < 6; ++first) {
      for (zp::index_t count = 0; count < 5; ++count) {
        for (zp::index_t step = 1; step < 4; ++step) {
          bool is_inside = first <= bound;
          for (zp::index_t i = 0; i < count; ++i) is_inside = is_inside && first + i * step < bound;
          const zp::selection part({first}, {count}, {step});
          REQUIRE(part.check({bound}).has_value() == is_inside);
        }
      }
    }
  }
}

TEST_CASE("selection: what makes no sense is refused, whatever the numbers") {
  using zp::errc;
  const auto code = [](const zp::selection& part, const zp::dims& bounds) {
    return part.check(bounds).failure().code;
  };
  CHECK(code({{0}, {1}, {1}}, {4, 4}) == errc::invalid_argument);
  CHECK(code({{0, 0}, {1}, {1}}, {4}) == errc::invalid_argument);
  CHECK(zp::selection({0}, {1}, {1}).check({4, 4}).failure().message ==
        "the selection has rank 1, the array has shape [4, 4]");
  CHECK(code({{0}, {1}, {1, 1}}, {4}) == errc::invalid_argument);
  CHECK(code({{-1}, {1}, {1}}, {4}) == errc::invalid_argument);
  CHECK(code({{0}, {-1}, {1}}, {4}) == errc::invalid_argument);
  CHECK(code({{0}, {1}, {0}}, {4}) == errc::invalid_argument);
  CHECK(code({{0}, {INT64_MAX}, {INT64_MAX}}, {4}) == errc::out_of_range);
  CHECK(code({{INT64_MAX}, {2}, {INT64_MAX}}, {4}) == errc::out_of_range);
  CHECK(code({{5}, {0}, {1}}, {4}) == errc::out_of_range);
  CHECK(zp::selection(zp::box{{1}, {2}}).check({3}));
  CHECK(zp::selection(zp::box{}).check({}));
  CHECK(zp::selection({2}, {3}, {4}).check({5}).failure().message ==
        "the selection (offset [2], shape [3], step [4]) reaches beyond the array of shape [5]");
}

TEST_CASE("box: the text of one whose end is beyond every index") {
  const std::string text = to_string(zarrpoint::box({INT64_MAX, 1}, {INT64_MAX, 2}));
  CHECK(text == "[9223372036854775807:18446744073709551614, 1:3]");
}

}  // namespace box_test
