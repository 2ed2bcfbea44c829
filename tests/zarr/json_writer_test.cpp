// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "json_input.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

namespace json_writer_test {

using namespace zarrpoint;

TEST_CASE("scalars") {
  CHECK(dump_json(json()) == "null");
  CHECK(dump_json(true) == "true");
  CHECK(dump_json(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(dump_json(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(dump_json("é\"\\\n\t\r\b\f\x01\x1f/\x7f") ==
        "\"é\\\"\\\\\\n\\t\\r\\b\\f\\u0001\\u001f/\x7f\"");
  CHECK(dump_json(std::string_view("a\0b", 3)) == "\"a\\u0000b\"");
  CHECK(dump_json("a\xff") == "\"a\xef\xbf\xbd\"");
}

TEST_CASE("doubles are spelled as Python spells them") {
  const std::pair<double, const char*> table[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {0.1, "0.1"},
      {65504.0, "65504.0"},
      {100000.0, "100000.0"},
      {1e15, "1000000000000000.0"},
      {1e16, "1e+16"},
      {1e30, "1e+30"},
      {1e-4, "0.0001"},
      {1e-5, "1e-05"},
      {1.5e-7, "1.5e-07"},
      {5e-324, "5e-324"},
      {-2.5, "-2.5"},
      {0.10000000149011612, "0.10000000149011612"},
      {123456789012345680.0, "1.2345678901234568e+17"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
  };
  for (const auto& [value, text] : table) CHECK(dump_json(value) == text);
  CHECK(dump_json(std::nan("")) == "NaN");
  CHECK(dump_json(std::numeric_limits<double>::infinity()) == "Infinity");
  CHECK(dump_json(-std::numeric_limits<double>::infinity()) == "-Infinity");
}

TEST_CASE("every finite double reads back") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const auto bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    const std::string text = dump_json(value);
    if (std::strtod(text.c_str(), nullptr) != value) FAIL_CHECK(text);
  }
}

TEST_CASE("members keep their order, both styles") {
  const json value = json::object{{"b", json::array{1, json::object{}, json::array{}}}, {"a", "x"}};
  CHECK(dump_json(value) == R"({"b":[1,{},[]],"a":"x"})");
  CHECK(dump_json(value, json_style::pretty) ==
        "{\n  \"b\": [\n    1,\n    {},\n    []\n  ],\n  \"a\": \"x\"\n}");
  CHECK(dump_json(json::object{}, json_style::pretty) == "{}");
}

}  // namespace json_writer_test
