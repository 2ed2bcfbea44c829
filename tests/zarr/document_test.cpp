// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/document.hpp>

#include "json_input.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

namespace document_test {

using namespace zarrpoint;
using json_input::json_of;

TEST_CASE("integers, also those spelled as doubles") {
  CHECK(detail::integral_int64(json_of("4.0")) == 4);
  CHECK(detail::integral_int64(json_of("-9223372036854775808.0")) ==
        std::numeric_limits<std::int64_t>::min());
  CHECK_FALSE(detail::integral_int64(json_of("9223372036854775808")));
  CHECK_FALSE(detail::integral_int64(json_of("9223372036854775808.0")));
  CHECK(detail::integral_uint64(json_of("9223372036854775808.0")) == 9223372036854775808U);
  CHECK_FALSE(detail::integral_uint64(json_of("18446744073709551616.0")));
  CHECK_FALSE(detail::integral_uint64(json_of("-1")));
  for (const char* text : {"0.5", "NaN", "-Infinity", "1e300", "\"1\"", "true", "null", "[1]"}) {
    CHECK_FALSE(detail::integral_int64(json_of(text)));
    CHECK_FALSE(detail::integral_uint64(json_of(text)));
  }
}

TEST_CASE("extents") {
  CHECK(detail::parse_extents(json_of("[]")).value() == dims{});
  CHECK(detail::parse_extents(json_of("[0, 4.0, 9223372036854775807]")).value() ==
        dims{0, 4, std::numeric_limits<index_t>::max()});
  for (const char* text :
       {"null", "3", "{}", "[-1]", "[0.5]", "[\"1\"]", "[null]", "[[1]]", "[9223372036854775808]"})
    CHECK(detail::parse_extents(json_of(text)).failure().code == errc::corrupt);
  CHECK(detail::parse_extents(json(json::array(max_rank, 1))).value().rank() == max_rank);
  CHECK(detail::parse_extents(json(json::array(max_rank + 1, 1))).failure().code ==
        errc::unsupported);
}

TEST_CASE("what could not be read back is not written") {
  CHECK(detail::check_writable(json_of(R"({"a":[1,{"a":NaN}]})")));
  const json twice = json::object{{"a", 1}, {"a", 2}};
  CHECK(detail::check_writable(twice).failure().code == errc::invalid_argument);
  CHECK_FALSE(detail::check_writable(json::array{"\xff"}));
  CHECK_FALSE(detail::check_writable(json::object{{"\xff", 1}}));
  json deep;
  for (int i = 0; i < 100; ++i) deep = json::array{deep};
  CHECK_FALSE(detail::check_writable(deep));
  CHECK_FALSE(detail::check_writable_attributes(json::array{}));
  CHECK(detail::check_writable_attributes(json()));
}

TEST_CASE("only an object that says so may be passed over") {
  CHECK(detail::may_ignore(json_of(R"({"must_understand": false})")));
  for (const char* text : {R"({"must_understand": true})", R"({"must_understand": 0})", "{}",
                           "null", "false", "[]", R"({"must_understand": null})"})
    CHECK_FALSE(detail::may_ignore(json_of(text)));
}

}  // namespace document_test
