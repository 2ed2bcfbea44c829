// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/json/json.hpp>

#include "json_input.hpp"
#include "support/random_rounds.hpp"

#include <doctest/doctest.h>

#include <clocale>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace json_input {

using namespace zarrpoint;

json json_of(std::string_view text) {
  auto parsed = parse_json(as_bytes(text));
  if (!parsed) FAIL(text << ": " << to_string(parsed.failure()));
  return *parsed;
}

json golden(const std::string& path) {
  std::ifstream file(ZARRPOINT_TEST_GOLDEN "/zarr-metadata/" + path, std::ios::binary);
  REQUIRE_MESSAGE(file.good(), path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return json_of(text);
}

namespace {

/// Damages `place`, a part of `document`, and everything beneath it.
void damage(const json& document, json& place, const std::function<void(const json&)>& f) {
  static const json::array odd = *json_of(R"([null, true, 0, -1, 1, 2, 1.5, 1e300,
      9223372036854775807, 18446744073709551615, "", "x", "0", "..", "a/b", [], [[]], [0], {},
      {"name": "x"}, {"must_understand": false}, {"id": "x"}, [1, 2, 3, 4, 5, 6, 7, 8]])")
                                      .if_array();
  const json whole = place;
  for (const json& value : odd) {
    place = value;
    f(document);
  }
  place = whole;
  if (json::object* members = place.if_object()) {
    for (std::size_t i = 0; i < members->size(); ++i) {
      damage(document, (*members)[i].value, f);
      const json::object kept = *members;
      members->erase(members->begin() + static_cast<std::ptrdiff_t>(i));
      f(document);
      *members = kept;
      members->push_back({"unknown", 1});
      f(document);
      *members = kept;
      (*members)[i].key += "/..";
      f(document);
      *members = kept;
    }
  } else if (json::array* elements = place.if_array()) {
    for (json& element : *elements) damage(document, element, f);
  }
}

}  // namespace

void for_each_damage(const json& document, const std::function<void(const json&)>& f) {
  json copy = document;
  damage(copy, copy, f);
}

}  // namespace json_input

namespace json_test {

using namespace zarrpoint;

namespace {

result<json> parse(std::string_view text, const json_limits& limits = {}) {
  // A copy of the exact size, so that a sanitizer sees a read beyond the end.
  const std::vector<char> exact(text.begin(), text.end());
  return parse_json(std::as_bytes(std::span(exact)), limits);
}

errc code_of(std::string_view text, const json_limits& limits = {}) {
  const auto parsed = parse(text, limits);
  REQUIRE_MESSAGE(!parsed, text);
  return parsed.failure().code;
}

std::string error_of(std::string_view text) { return json_input::error_of(parse(text)); }

}  // namespace

TEST_CASE("values") {
  CHECK(parse("null").value().is_null());
  CHECK(parse(" true ").value() == json(true));
  CHECK(parse("\"h\\u00e9llo \\ud83d\\ude00\\n\"").value() == json("héllo 😀\n"));
  CHECK(parse("[1, -2, 0.5, [], {}]").value() ==
        json(json::array{1, -2, 0.5, json::array{}, json::object{}}));
  const json object = parse(R"({"z": 1, "a": {"b": null}})").value();
  CHECK(dump_json(object) == R"({"z":1,"a":{"b":null}})");
}

TEST_CASE("integers are exact over 64 bits, signed and unsigned") {
  CHECK(parse("9223372036854775807").value().to_int64() ==
        std::numeric_limits<std::int64_t>::max());
  CHECK(parse("-9223372036854775808").value().to_int64() ==
        std::numeric_limits<std::int64_t>::min());
  CHECK(parse("18446744073709551615").value().to_uint64() ==
        std::numeric_limits<std::uint64_t>::max());
  CHECK(parse("9007199254740993").value().to_int64() == 9007199254740993);
  CHECK(code_of("18446744073709551616") == errc::out_of_range);
  CHECK(code_of("-9223372036854775809") == errc::out_of_range);
  CHECK(code_of("{\"a\":[" + std::string(400, '9') + "]}") == errc::out_of_range);
  CHECK(error_of("[18446744073709551616]") ==
        "out_of_range: JSON: integer \"18446744073709551616\" does not fit in 64 bits");
  CHECK(parse("-0").value() == json(0));
  CHECK(std::signbit(*parse("-0.0").value().to_double()));
}

TEST_CASE("doubles") {
  CHECK(parse("0.1").value() == json(0.1));
  CHECK(parse("1e30").value() == json(1e30));
  CHECK(parse("4.9e-324").value() == json(4.9e-324));
  CHECK(parse("1e-999").value() == json(0.0));
  CHECK_FALSE(parse("7.0").value().is_integer());
  CHECK(code_of("1e999") == errc::corrupt);
  CHECK(code_of("[-1e999]") == errc::corrupt);
}

TEST_CASE("what is not JSON is refused") {
  for (const char* text : {"",          " ",        "{",         "[",          "\"",      "{\"a\"",
                           "{\"a\":",   "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "[1,]",    "[1 2]",
                           "{a:1}",     "{1:2}",    "'a'",       "nul",        "TRUE",    "01",
                           "1.",        ".5",       "+1",        "1e",         "0x10",    "[1]]",
                           "{} {}",     "1 2",      "// c\n1",   "/**/1",      "\"\t\"",  "\"\\x\"",
                           "\"\\u12\"", "-",        "nan",       "inf",        "\"a\nb\""}) {
    CAPTURE(text);
    CHECK(code_of(text) == errc::corrupt);
  }
  CHECK(code_of(std::string_view("{}\0{}", 5)) == errc::corrupt);
  CHECK(code_of(std::string_view("1\0", 2)) == errc::corrupt);
  for (const auto& [text, says] :
       {std::pair("{\n  \"a\": }", "line 2, column 8: expected a value, found \"}\""),
        std::pair("", "line 1, column 1: expected a value, found the end"),
        std::pair("[1 2]", "line 1, column 4: expected ',' or ']' after an element, found \"2\""),
        std::pair("{\"a\" 1}", "line 1, column 6: expected ':' after a key, found \"1\""),
        std::pair("{\"a\":1\n\n;",
                  "line 3, column 1: expected ',' or '}' after a member, found \";\""),
        std::pair("[\"\\ud800x\"]",
                  "line 1, column 8: expected both halves of a surrogate pair, found \"0\""),
        std::pair("{}\n]", "line 2, column 1: expected nothing more, found \"]\""),
        std::pair("007", "line 1, column 2: expected no digit after a leading 0, found \"0\"")}) {
    CHECK(error_of(text) == "corrupt: JSON: " + std::string(says));
  }
  CHECK(error_of("1e999") == "corrupt: JSON: number \"1e999\" is too large for a double");
  CHECK(error_of("\"" + std::string(100000, 'x')).size() < 400);
}

TEST_CASE("text must be UTF-8 and surrogates must pair") {
  for (const char* text : {"\"\xff\"", "\"\xc3\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"",
                           "\"\xf4\x90\x80\x80\"", "{\"\xe4\xb8\": 1}", "\"\\ud800\"",
                           "\"\\ud800x\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\xff"}) {
    CAPTURE(text);
    CHECK(code_of(text) == errc::corrupt);
  }
}

TEST_CASE("duplicate keys are refused and named") {
  CHECK(error_of(R"({"a":1,"b":2,"a":3})") == "corrupt: JSON: duplicate key \"a\"");
  CHECK(error_of(R"([{"x":{"k":1,"\u006b":1}}])") == "corrupt: JSON: duplicate key \"k\"");
  CHECK(parse(R"({"a":{"a":{"a":1}}})").has_value());
  std::string many = "{";
  for (int i = 0; i < 20000; ++i) many += "\"" + std::to_string(i) + "\":0,";
  CHECK(parse(many + "\"x\":0}").has_value());
  CHECK(error_of(many + "\"777\":0}") == "corrupt: JSON: duplicate key \"777\"");
}

TEST_CASE("keep_text: what a node cannot hold is text in its place") {
  const auto read = [](std::string_view text) { return parse(text, {.keep_text = true}); };
  const auto text_of = [&](std::string_view text) {
    const auto parsed = read(text);
    return parsed ? dump_json(*parsed) : error_of(text);
  };
  CHECK(text_of("[18446744073709551616]") == R"(["18446744073709551616"])");
  CHECK(text_of("-9223372036854775809") == R"("-9223372036854775809")");
  CHECK(text_of("[18446744073709551615, 1e999]") == R"([18446744073709551615,"1e999"])");
  CHECK(text_of(R"(["a\ud800b", "\uDC00", "\ud800\ud83d\ude00"])") ==
        R"(["a\\ud800b","\\uDC00","\\ud800)"
        "\xf0\x9f\x98\x80\"]");
  CHECK(text_of(R"("\ud800\u0041")") == R"("\\ud800A")");
  // What is not JSON is an error all the same.
  for (const char* text :
       {"01", "1e", R"("\ud800\u00")", R"("\ud8)", R"("\ud800)", "\"\xed\xa0\x80\""}) {
    CAPTURE(text);
    CHECK(read(text).failure().code == errc::corrupt);
  }
}

TEST_CASE("keep_twice: an object that has a key twice is its text, where that is asked for") {
  const auto text_of = [](std::string_view text, const json_limits& how) {
    const auto parsed = parse(text, how);
    return parsed ? dump_json(*parsed) : to_string(parsed.failure());
  };
  const json_limits all{.keep_twice = true};
  CHECK(text_of(R"({"b": [{"a":1, "a":{}}], "c":2})", all) ==
        R"({"b":[{"duplicate_keys":"{\"a\":1, \"a\":{}}"}],"c":2})");
  CHECK(text_of(R"({"a":{"x":1,"x":2},"a":3})", all) ==
        R"({"duplicate_keys":"{\"a\":{\"x\":1,\"x\":2},\"a\":3}"})");
  // Elsewhere than in attributes a document contradicts itself.
  const json_limits attributes{.keep_text = true};
  CHECK(text_of(R"({"attributes":{"a":1,"a":2},"x":[]})", attributes) ==
        R"({"attributes":{"duplicate_keys":"{\"a\":1,\"a\":2}"},"x":[]})");
  CHECK(text_of(R"({"m":{"g/.zattrs":{"a":[{"b":1,"b":2}]}}})", attributes) ==
        R"({"m":{"g/.zattrs":{"a":[{"duplicate_keys":"{\"b\":1,\"b\":2}"}]}}})");
  for (const char* text :
       {R"({"attributes":{},"shape":[1],"shape":[2]})", R"({"attributes":1,"attributes":2})",
        R"({"attributes":{"a":1},"m":{"a":1,"a":2}})", R"([{"a":1,"a":2}])"}) {
    CAPTURE(text);
    CHECK(parse(text, attributes).failure().code == errc::corrupt);
  }
  CHECK(text_of(R"({"attributes":{"a":1,"a":2}})", {}) == "corrupt: JSON: duplicate key \"a\"");
  std::string deep = R"({"a":1,"a":2})";
  for (int i = 0; i < 60; ++i) deep = R"({"a":)" + deep + R"(,"a":0})";
  CHECK(text_of(deep, all).size() > 2 * deep.size() / 2);
  CHECK(parse(R"({"a":1,"a":2)", all).failure().code == errc::corrupt);
}

TEST_CASE("the decimal point of a locale is not that of JSON") {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "C"}) {
    if (std::setlocale(LC_NUMERIC, name) == nullptr) continue;
    CHECK(parse("[1.5, 2e3]").value() == json(json::array{1.5, 2000.0}));
  }
  std::setlocale(LC_NUMERIC, before.c_str());
}

TEST_CASE("limits") {
  json_limits limits;
  limits.max_depth = 3;
  CHECK(parse("[[[1]]]", limits).has_value());
  CHECK(code_of("[[[[1]]]]", limits) == errc::resource_limit);
  CHECK(code_of("{\"a\":[{\"b\":{}}]}", limits) == errc::resource_limit);
  CHECK(code_of(std::string(1 << 20, '[')) == errc::resource_limit);
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  CHECK(code_of(objects) == errc::resource_limit);

  limits = {};
  limits.max_nodes = 4;
  CHECK(parse("[1,2,3]", limits).has_value());
  CHECK(code_of("[1,2,3,4]", limits) == errc::resource_limit);
  CHECK(code_of("[NaN,NaN,NaN,NaN,NaN]", limits) == errc::resource_limit);

  limits = {};
  limits.max_bytes = 4;
  CHECK(parse("[12]", limits).has_value());
  CHECK(code_of("[123]", limits) == errc::resource_limit);
}

TEST_CASE("bare NaN and infinities, as zarr-python writes them in attributes") {
  const json value = parse("{\"a\": NaN, \"b\":[Infinity,-Infinity], \"NaN\":\"NaN\"}").value();
  CHECK(std::isnan(*value.find("a")->to_double()));
  const json::array& both = *value.find("b")->if_array();
  CHECK(*both[0].to_double() == std::numeric_limits<double>::infinity());
  CHECK(*both[1].to_double() == -std::numeric_limits<double>::infinity());
  CHECK(*value.find("NaN") == json("NaN"));
  CHECK(dump_json(value) == R"({"a":NaN,"b":[Infinity,-Infinity],"NaN":"NaN"})");
  CHECK(std::isnan(*parse("NaN").value().to_double()));
  // The same text in strings is text, escapes and all.
  CHECK(parse(R"(["\"NaN", NaN, "Infinity\\"])").value().if_array()->front() == json("\"NaN"));

  json_limits strict;
  strict.allow_nan_literals = false;
  CHECK(code_of("[NaN]", strict) == errc::corrupt);
}

TEST_CASE("NaN within other tokens stays an error") {
  for (const char* text : {"1NaN", "NaN0", "NaN1", "-NaN", "NaNNaN", "InfinityNaN", "--Infinity",
                           "+Infinity", "nullNaN", "NaNe5", "1-Infinity", "{NaN:1}", "[NaN", "NaN,",
                           "NaN\"", "\"NaN", "Infinit", "NaN.5", "[NaN NaN]"}) {
    CAPTURE(text);
    CHECK(code_of(text) == errc::corrupt);
  }
}

TEST_CASE("truncated or damaged at every byte: an error or a document, never more") {
  const std::string text =
      "{\"zarr_format\": 3, \"a\": [1.5e3, NaN, -Infinity, \"h\\u00e9\xc3\xa9\\\"\"], \"b\": "
      "{\"c\": null}}";
  CHECK(parse(text).has_value());
  for (std::size_t length = 0; length < text.size(); ++length)
    CHECK(code_of(text.substr(0, length)) == errc::corrupt);
  std::mt19937 random(3);
  for (int round = 0; round < zarrpoint_test::random_rounds(20000); ++round) {
    std::string damaged = text;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits)
      damaged[random() % damaged.size()] = static_cast<char>(random() & 0xff);
    if (const auto parsed = parse(damaged)) {
      // What was read writes and reads back the same.
      const std::string once = dump_json(*parsed);
      CHECK(dump_json(parse(once).value()) == once);
    }
  }
}

TEST_CASE("what is written reads back") {
  const std::string text =
      R"({"a":[1,-1,18446744073709551615,0.1,1e+30,"\u0001\"é"],"b":{"c":null,"d":[true,false]}})";
  CHECK(dump_json(parse(text).value()) == text);
  const json value = parse(text).value();
  CHECK(parse(dump_json(value, json_style::pretty)).value() == value);
}

}  // namespace json_test
