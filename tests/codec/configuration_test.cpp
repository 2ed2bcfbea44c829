// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codecs.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace configuration_test {

namespace zp = zarrpoint;
using zp::configuration_fields;

namespace {

constexpr std::string_view sizes[] = {"small", "medium", "large"};
enum class size : std::uint8_t { small, medium, large };

struct members {
  bool flag = true;
  int number = 5;
  std::optional<int> perhaps;
  std::string text = "t";
  double real = 0.5;
  size how = size::medium;

  void fields(configuration_fields& all) {
    all.boolean("flag", flag);
    all.integer("number", number, -3, 9);
    all.integer("perhaps", perhaps, 0, 9);
    all.text("text", text);
    all.number("real", real);
    all.choice("how", how, sizes, how != size::large);
  }
};

std::string fault_of(const zp::json& configuration) {
  configuration_fields all(configuration);
  members().fields(all);
  const zp::result<void> status = all.end();
  return status ? "" : status.failure().message;
}
std::string fault_of(const char* key, zp::json value) {
  return fault_of(zp::json(zp::json::object{{key, std::move(value)}}));
}

}  // namespace

TEST_CASE("configuration_fields: an object, or null, and no member that nobody asked for") {
  CHECK(fault_of({}).empty());
  CHECK(fault_of(zp::json(zp::json::object{})).empty());
  CHECK(fault_of(zp::json(1)) == "configuration is not an object");
  CHECK(fault_of(zp::json(zp::json::array{})) == "configuration is not an object");
  CHECK(fault_of("b", 1) == "unknown configuration member \"b\"");
  const std::string hostile = fault_of(std::string(100000, '\n').c_str(), 1);
  CHECK(hostile.size() < 150);
  CHECK(hostile.find('\n') == std::string::npos);
  zp::json many(zp::json::object{});
  for (int i = 0; i < 200; ++i) many.set("flag" + std::to_string(i), true);
  CHECK(fault_of(many) == "unknown configuration member \"flag0\"");
}

TEST_CASE("configuration_fields: what is read is written, and what is absent stays") {
  const zp::json given(zp::json::object{{"flag", false},
                                        {"number", -3.0},
                                        {"perhaps", 7},
                                        {"text", "x"},
                                        {"real", 7},
                                        {"how", "small"}});
  members made;
  configuration_fields in(given);
  made.fields(in);
  REQUIRE(in.end());
  CHECK(made.number == -3);
  CHECK(made.real == 7);
  configuration_fields out;
  made.fields(out);
  CHECK(out.take_written() == zp::json(zp::json::object{{"flag", false},
                                                        {"number", -3},
                                                        {"perhaps", 7},
                                                        {"text", "x"},
                                                        {"real", 7.0},
                                                        {"how", "small"}}));
  members few;
  const zp::json partly(zp::json::object{{"how", "large"}, {"perhaps", zp::json()}});
  configuration_fields again(partly);
  few.fields(again);
  REQUIRE(again.end());
  CHECK(few.flag);
  CHECK(few.number == 5);
  configuration_fields short_out;
  few.fields(short_out);
  CHECK(short_out.take_written() ==
        zp::json(zp::json::object{{"flag", true}, {"number", 5}, {"text", "t"}, {"real", 0.5}}));
}

TEST_CASE("configuration_fields: a fault tells the member, what it is, and what it may be") {
  CHECK(fault_of("number", 10) == "\"number\" is 10, not an integer from -3 to 9");
  CHECK(fault_of("number", "10") == "\"number\" is \"10\", not an integer from -3 to 9");
  CHECK(fault_of("number", 7.5) == "\"number\" is not an integer from -3 to 9");
  CHECK(fault_of("number", 1e300) == "\"number\" is not an integer from -3 to 9");
  CHECK(fault_of("number", std::nan("")) == "\"number\" is not an integer from -3 to 9");
  CHECK(fault_of("number", true) == "\"number\" is not an integer from -3 to 9");
  CHECK(fault_of("number", zp::json()) == "\"number\" is not an integer from -3 to 9");
  CHECK(fault_of("perhaps", -1) == "\"perhaps\" is -1, not an integer from 0 to 9");
  CHECK(fault_of("flag", 1) == "\"flag\" is 1, not true or false");
  CHECK(fault_of("text", zp::json::array{}) == "\"text\" is not a string");
  CHECK(fault_of("real", HUGE_VAL) == "\"real\" is not a number");
  CHECK(fault_of("how", "tiny") == "\"how\" is \"tiny\", not \"small\", \"medium\" or \"large\"");
  CHECK(fault_of("how", 1) == "\"how\" is 1, not \"small\", \"medium\" or \"large\"");
  // A member that nobody asked for, and else the first of several.
  CHECK(fault_of(zp::json(zp::json::object{{"text", 1}, {"flag", 2}, {"x", 1}})) ==
        "unknown configuration member \"x\"");
  CHECK(fault_of(zp::json(zp::json::object{{"text", 1}, {"flag", 2}})) ==
        "\"flag\" is 2, not true or false");

  const zp::json empty;
  configuration_fields needed(empty);
  needed.need("number");
  CHECK(needed.failed());
  CHECK(needed.end().failure().message == "\"number\" is missing");
}

}  // namespace configuration_test
