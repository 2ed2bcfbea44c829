// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/v2/v2_codecs.hpp>

#include "json_input.hpp"

#include <doctest/doctest.h>

#include <span>
#include <string>

namespace v2_filters_test {

using namespace zarrpoint;
using json_input::json_of;

TEST_CASE("every id has a name in v3, and the name leads back") {
  for (const detail::known_codec& row : detail::known_codecs) {
    CAPTURE(row.name);
    if (row.role == detail::v2_role::none) {
      CHECK(detail::find_v2_id(row.id()) == nullptr);
      continue;
    }
    CHECK(detail::find_v2_id(row.id()) == &row);
    CHECK(detail::find_v2_name(detail::v3_name_of(row)) == &row);
    CHECK(detail::find_v2_name("numcodecs." + std::string(row.id())) == &row);
  }
  CHECK(detail::find_v2_id("bytes") == nullptr);
  CHECK(detail::find_v2_name("delta") == nullptr);
  CHECK(detail::find_v2_name("numcodecs.bytes") == nullptr);
}

TEST_CASE("three spellings of a filter's dtype") {
  const auto of = [](const char* text) {
    return detail::parse_v2_filter_dtype(json(text)).value();
  };
  CHECK(of("<f8") == detail::v2_dtype{dtype_kind::float64});
  CHECK(of(">i2") == detail::v2_dtype{dtype_kind::int16, endian::big});
  CHECK(of("|u1") == detail::v2_dtype{dtype_kind::uint8});
  CHECK(of("u1") == detail::v2_dtype{dtype_kind::uint8});
  CHECK(of("i8") == detail::v2_dtype{dtype_kind::int64});
  CHECK(of("float64") == detail::v2_dtype{dtype_kind::float64});
  CHECK(of("b1") == detail::v2_dtype{dtype_kind::bool_});
  CHECK_FALSE(detail::parse_v2_filter_dtype(json("x8")));
  CHECK_FALSE(detail::parse_v2_filter_dtype(json("")));
  CHECK_FALSE(detail::parse_v2_filter_dtype(json(8)));
}

TEST_CASE("an array filter changes what the next one gets") {
  detail::v2_dtype elements{dtype_kind::float64};
  const json filter =
      json_of(R"({"id":"fixedscaleoffset","scale":10,"offset":0,"dtype":"<f8","astype":">i2"})");
  const auto spec =
      detail::parse_v2_array_filter(filter, *detail::find_v2_id("fixedscaleoffset"), elements);
  REQUIRE(spec);
  CHECK(spec->name == "numcodecs.fixedscaleoffset");
  CHECK(dump_json(spec->configuration) ==
        R"({"scale":10,"offset":0,"dtype":"<f8","astype":">i2"})");
  CHECK(elements == detail::v2_dtype{dtype_kind::int16, endian::big});
  const auto packed = detail::parse_v2_array_filter(json_of(R"({"id":"packbits"})"),
                                                    *detail::find_v2_id("packbits"), elements);
  REQUIRE(packed);
  CHECK(elements == detail::v2_dtype{dtype_kind::uint8});
}

TEST_CASE("a filter's byte order is told as whether it is another one than it gets") {
  const auto parsed = [](const char* type, endian order) {
    detail::v2_dtype elements{dtype_kind::int32, order};
    const json filter = json_of(R"({"id":"delta","dtype":")" + std::string(type) + "\"}");
    const auto spec =
        detail::parse_v2_array_filter(filter, *detail::find_v2_id("delta"), elements).value();
    // What it makes has its own byte order.
    CHECK(elements.order == (type[0] == '>' ? endian::big : endian::little));
    return *spec.configuration.find("dtype")->if_string();
  };
  CHECK(parsed("<i4", endian::little) == "<i4");
  CHECK(parsed(">i4", endian::big) == "<i4");
  CHECK(parsed("<i4", endian::big) == ">i4");
  CHECK(parsed(">i2", endian::little) == ">i2");
  CHECK(parsed("|i1", endian::big) == "|i1");
}

TEST_CASE("filters are written with the byte order that is stored") {
  const auto written = [](const char* configuration, endian order) {
    const codec_spec spec{"numcodecs.delta", json_of(configuration)};
    return dump_json(
        detail::to_v2_array_filters(std::span(&spec, 1), {dtype_kind::int32, order}).value());
  };
  CHECK(written(R"({"dtype":"<i4"})", endian::big) == R"([{"id":"delta","dtype":">i4"}])");
  CHECK(written(R"({"dtype":"int32","astype":"i2"})", endian::little) ==
        R"([{"id":"delta","dtype":"<i4","astype":"<i2"}])");
  CHECK(written("{}", endian::little) == R"([{"id":"delta","dtype":"<i4"}])");
  CHECK(written(R"({"dtype":">i4"})", endian::little) ==
        R"([{"id":"delta","dtype":">i4","astype":"<i4"}])");
  CHECK(written(R"({"dtype":">i4"})", endian::big) ==
        R"([{"id":"delta","dtype":"<i4","astype":">i4"}])");
}

}  // namespace v2_filters_test
