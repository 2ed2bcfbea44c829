// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/data_type.hpp>

#include <doctest/doctest.h>

#include <string>

namespace data_type_test {

using namespace zarrpoint;

// The documents are in metadata_v3_test.cpp.
TEST_CASE("units of time by their names") {
  for (int i = 0; i <= static_cast<int>(time_unit::as); ++i) {
    const auto unit = static_cast<time_unit>(i);
    CHECK(detail::parse_time_unit(to_string(unit)) == unit);
  }
  CHECK(detail::parse_time_unit("\u03bcs") == time_unit::us);
  CHECK(detail::parse_time_unit("M") == time_unit::M);
  CHECK(detail::parse_time_unit("m") == time_unit::m);
  CHECK_FALSE(detail::parse_time_unit(""));
  CHECK_FALSE(detail::parse_time_unit("seconds"));
}

TEST_CASE("a record of too many fields is refused before any is looked at") {
  const auto refusal = [](std::size_t count) {
    const json fields(json::array(count, json(7)));  // none of which is a field
    const json type(json::object{{"name", "struct"},
                                 {"configuration", json(json::object{{"fields", fields}})}});
    return detail::parse_data_type_v3(type).failure().message;
  };
  CHECK(refusal(3).find("a field must have a name") != std::string::npos);
  CHECK(refusal(65537).find("a record of 65537 fields is more than the limit of 65536") !=
        std::string::npos);
}

}  // namespace data_type_test
