// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/base/spec.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

namespace configuration_test {

namespace zp = zarrpoint;
using zp::configuration_reader;

TEST_CASE("configuration_reader: objects with known members, and null for none") {
  CHECK(configuration_reader::open({}, {}));
  CHECK(configuration_reader::open(zp::node(zp::node::object{}), {}));
  const zp::node given(zp::node::object{{"a", 1}, {"b", true}});
  CHECK(configuration_reader::open(given, {"b", "a", "c"}));
  CHECK(configuration_reader::open(given, {"a"}).failure().message ==
        "unknown configuration member \"b\"");
  const zp::node hostile(zp::node::object{{std::string(100000, '\n'), 1}});
  CHECK(configuration_reader::open(hostile, {}).failure().message.size() < 150);
  CHECK(configuration_reader::open(hostile, {}).failure().message.find('\n') == std::string::npos);
  CHECK_FALSE(configuration_reader::open(zp::node(1), {}));
  CHECK_FALSE(configuration_reader::open(zp::node(zp::node::array{}), {}));
}

TEST_CASE("configuration_reader: members by kind") {
  const zp::node given(zp::node::object{{"flag", true},
                                        {"number", 7},
                                        {"text", "x"},
                                        {"fraction", 7.5},
                                        {"whole", -3.0},
                                        {"huge", 1e300},
                                        {"nan", std::nan("")}});
  const configuration_reader reader =
      configuration_reader::open(given,
                                 {"flag", "number", "text", "fraction", "whole", "huge", "nan"})
          .value();
  CHECK(reader.boolean("flag").value() == true);
  CHECK(reader.integer("number", 0, 7).value() == 7);
  CHECK(reader.integer("whole", -3, 0).value() == -3);
  CHECK(reader.text("text").value() == "x");
  CHECK(reader.find("fraction")->to_double() == 7.5);

  CHECK_FALSE(reader.boolean("absent").value());
  CHECK_FALSE(reader.integer("absent", 0, 1).value());
  CHECK_FALSE(reader.text("absent").value());

  CHECK_FALSE(reader.boolean("number"));
  CHECK_FALSE(reader.integer("fraction", 0, 10));
  CHECK_FALSE(reader.integer("flag", 0, 10));
  CHECK_FALSE(reader.integer("whole", 0, 10));
  CHECK_FALSE(reader.integer("huge", INT64_MIN, INT64_MAX));
  CHECK_FALSE(reader.integer("nan", INT64_MIN, INT64_MAX));
  CHECK_FALSE(reader.text("number"));
  CHECK(reader.integer("number", 8, 9).failure().message ==
        "\"number\" is not an integer from 8 to 9");
}

}  // namespace configuration_test
