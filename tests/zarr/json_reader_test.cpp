// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_reader.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// That it reads what nlohmann/json reads is shown in tests/interop/nlohmann_test.cpp.

namespace json_reader_test {

using namespace zarrpoint;

namespace {

/// What is read, as text; nothing where the reader gives up.
std::optional<std::string> read(std::string_view text, const json_limits& limits = {},
                                detail::json_member* wanted = nullptr) {
  // A copy of the exact size, so that a sanitizer sees a read beyond the end.
  const std::vector<char> exact(text.begin(), text.end());
  json out;
  detail::json_reader reader({exact.data(), exact.size()}, limits, wanted);
  if (!reader.read(out)) return std::nullopt;
  return dump_json(out);
}

/// Wants a number, and reads it from a word.
class word_member final : public detail::json_member {
 public:
  using json_member::json_member;
  int times = 0;

 protected:
  bool read(detail::json_reader& from) override {
    ++times;
    return from.take_text("seven");
  }
};

/// The same, and goes past one object.
class passing_member final : public detail::json_member {
 public:
  using json_member::json_member;

 protected:
  bool read(detail::json_reader& from) override { return from.take_text("seven"); }
  bool pass(detail::json_reader& from) override { return from.take_text(R"({"p":[1]})"); }
};

}  // namespace

TEST_CASE("plain documents are read") {
  for (const char* text :
       {"null", "true", "[]", "{}", "[1,-2,0,18446744073709551615,-9223372036854775808]",
        R"({"a":{"b":[{},[],"x",false]},"c":0.5,"d":1e+30,"e":-0.0})", R"("é\n\t\r\b\f\\\"")"}) {
    CAPTURE(text);
    CHECK(read(text) == text);
  }
  CHECK(read(" { \"a\" :\n[ 1 ,\t2 ]\r} ") == R"({"a":[1,2]})");
}

TEST_CASE("what is wrong is refused") {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[",
                           "\"",
                           "{\"a\"",
                           "{\"a\":1",
                           "{\"a\":1,}",
                           "[1,]",
                           "[1 2]",
                           "{a:1}",
                           "nul",
                           "01",
                           "-",
                           "1.",
                           ".5",
                           "+1",
                           "1e",
                           "-01",
                           "1]",
                           "[1]]",
                           "{}{}",
                           "\"\t\"",
                           "\"\\x\"",
                           "\"\\",
                           "1e999",
                           "\"\xff\"",
                           "\"\xc3\"",
                           "18446744073709551616",
                           "-9223372036854775809",
                           "{\"a\":1,\"a\":2}",
                           "{\"a\":1,\"\\u0061\":2}"}) {
    CAPTURE(text);
    CHECK_FALSE(read(text).has_value());
  }
  json_limits limits;
  limits.max_nodes = 4;
  CHECK(read("[1,2,3]", limits).has_value());
  CHECK_FALSE(read("[1,2,3,4]", limits).has_value());
  limits = {};
  limits.max_depth = 3;
  CHECK(read("[[{}]]", limits).has_value());
  CHECK_FALSE(read("[[{\"a\":[]}]]", limits).has_value());
  limits.max_depth = SIZE_MAX;  // it calls itself, so it has a limit of its own
  CHECK_FALSE(read(std::string(1 << 20, '['), limits).has_value());
}

TEST_CASE("a wanted member is read by its own reader and by no other") {
  constexpr std::array<std::string_view, 2> path = {"a", "b"};
  const auto found = [&](std::string_view text) {
    word_member wanted(path);
    const auto out = read(text, {}, &wanted);
    CHECK(wanted.found() == (out.has_value() && wanted.times == 1));
    return out.value_or("gave up");
  };
  CHECK(found(R"({"b":1,"a":{"c":2, "b" : seven }})") == R"({"b":1,"a":{"c":2,"b":null}})");
  CHECK(found(R"({"x":{"b":1},"a":{"c":{"b":2}}})") == R"({"x":{"b":1},"a":{"c":{"b":2}}})");
  CHECK(found(R"([{"a":{"b":1}}])") == R"([{"a":{"b":1}}])");
  CHECK(found(R"({"a":{"b":8}})") == "gave up");
  CHECK(found(R"({"a":{"b":seven}}])") == "gave up");
  CHECK(found(R"({"a":{"b":seven},"a":{"b":seven}})") == "gave up");
}

TEST_CASE("objects are passed over behind the member of the root that has the wanted one") {
  constexpr std::array<std::string_view, 2> path = {"a", "b"};
  const auto found = [&](std::string_view text) {
    passing_member wanted(path);
    return read(text, {}, &wanted).value_or("wrong");
  };
  CHECK(found(R"({"x":{"p":[1]},"a":{"c":{"p":[1]},"b":seven,"d":{"p":[1]}},"y":{"p":[1]}})") ==
        R"({"x":{"p":[1]},"a":{"c":{"p":[1]},"b":null,"d":{"p":[1]}},"y":{}})");
  CHECK(found(R"({"a":{"b":seven},"y":{"z":[{"p":[1]},{"p":[2]},{"p":[1] }]}})") ==
        R"({"a":{"b":null},"y":{"z":[{},{"p":[2]},{"p":[1]}]}})");
  CHECK(found(R"({"a":{"c":1},"y":{"p":[1]}})") == R"({"a":{"c":1},"y":{"p":[1]}})");
  CHECK(found(R"({"a":{"b":seven},"y":{"p":[1]}x})") == "wrong");
  CHECK(found(R"({"a":{"b":seven},"y":{"p":[1]})") == "wrong");
  constexpr std::array<std::string_view, 1> own = {"b"};
  passing_member of_root(own);
  CHECK(read(R"({"b":seven,"y":{"p":[1]}})", {}, &of_root) == R"({"b":null,"y":{"p":[1]}})");
}

TEST_CASE("a reader of a member keeps to the limits of the document") {
  json_limits limits;
  limits.max_nodes = 3;
  limits.max_depth = 2;
  detail::json_reader reader("12\"x\"[1]", limits);
  std::uint64_t number = 0;
  std::string text = "a";
  CHECK(reader.read_uint64(number));
  CHECK(number == 12);
  CHECK(reader.read_plain_string(text));
  CHECK(text == "ax");
  CHECK(reader.rest() == "[1]");
  CHECK_FALSE(reader.descend(3));
  CHECK(reader.descend(2));
  json value;
  CHECK_FALSE(detail::json_reader(reader).read_value(value));
  reader.ascend(2);
  CHECK_FALSE(reader.count_values(4));
  CHECK(reader.read_value(value));
  CHECK(reader.values_left() == 1);
  CHECK(reader.count_values(1));
  for (const char* odd : {R"("\/")", R"("\u0041")"})
    CHECK_FALSE(detail::json_reader(odd, {}).read_plain_string(text));
  for (const char* odd : {"", "-1", "01", "x", "18446744073709551616"})
    CHECK_FALSE(detail::json_reader(odd, {}).read_uint64(number));
}

TEST_CASE("what is wrong beside a wanted member is said without reading all again") {
  constexpr std::array<std::string_view, 2> path = {"a", "b"};
  const auto gave_up = [&](std::string_view text) {
    word_member wanted(path);
    json out;
    detail::json_reader reader(text, {}, &wanted);
    CHECK_FALSE(reader.read(out));
    return reader.gave_up();
  };
  CHECK(gave_up(R"({"a":{"b":8}})"));
  CHECK_FALSE(gave_up(R"({"a":{"b":seven}}])"));
  CHECK_FALSE(gave_up(R"({"a":{"b":seven},"c":1,"c":2})"));
  CHECK_FALSE(gave_up(R"({"c":1,"c":2})"));
  // The same is said of it, and where nothing is wrong the document is read as any other.
  for (const char* const text : {R"({"c":1,"c":2})", R"({"a":{"b":9},)", R"({"a":{"b":9}})", "["}) {
    CAPTURE(text);
    word_member wanted(path);
    const auto with = parse_json(as_bytes(std::string_view(text)), {}, &wanted);
    const auto without = parse_json(as_bytes(std::string_view(text)));
    REQUIRE(with.has_value() == without.has_value());
    if (with) {
      CHECK(*with == *without);
    } else {
      CHECK(with.failure().message == without.failure().message);
    }
  }
}

TEST_CASE("a key that is repeated is refused before the rest of the object is read") {
  // What follows is not JSON, which nobody gets to see.
  std::string text = "{";
  for (int i = 0; i < 64; ++i) text += R"("a":0,)";
  const auto same = parse_json(as_bytes(text + "!"));
  REQUIRE_FALSE(same.has_value());
  CHECK(same.failure().message == "JSON: duplicate key \"a\"");
  // The same where the first that is repeated comes late.
  text = "{";
  for (int i = 0; i < 4096; ++i) text += '"' + std::to_string(i % 4000) + "\":0,";
  const auto late = parse_json(as_bytes(text + "!"));
  REQUIRE_FALSE(late.has_value());
  CHECK(late.failure().message == "JSON: duplicate key \"0\"");
}

TEST_CASE("a long list has the memory that it needs, whatever its values are") {
  for (const char* const one : {"1", "\"a,b]\"", R"("\",")", "[1,2]", R"({"a":[1],"b":2})"}) {
    CAPTURE(one);
    std::string list = "[";
    for (int i = 0; i < 5000; ++i) list += (i == 0 ? "" : ",") + std::string(one);
    list += ']';
    const auto read = parse_json(as_bytes(std::string_view(list)));
    REQUIRE(read.has_value());
    CHECK(read->if_array()->size() == 5000);
    CHECK(read->if_array()->capacity() <= 5000 + 1024);
    // Within another list, and before one.
    const std::string both = "[0," + list + "," + list + "]";
    const auto within = parse_json(as_bytes(both));
    REQUIRE(within.has_value());
    CHECK((*within->if_array())[1] == *read);
    CHECK((*within->if_array())[2] == *read);
  }
}

TEST_CASE("long lists within each other are read whole, though nobody looks ahead without end") {
  std::string text;
  std::string end;
  for (int level = 0; level < 60; ++level) {
    text += '[';
    for (int i = 0; i < 1100; ++i) text += "7,";
    end += level % 2 == 0 ? "]" : ",8]";
  }
  const auto read = parse_json(as_bytes(text + "9" + end));
  REQUIRE(read.has_value());
  const json* at = &*read;
  for (int level = 0; level < 60; ++level) {
    const auto* const list = at->if_array();
    REQUIRE(list != nullptr);
    // The innermost is closed by the first of `end`.
    const bool has_last = (59 - level) % 2 != 0;
    REQUIRE(list->size() == 1101U + (has_last ? 1U : 0U));
    at = &(*list)[1100];
  }
  CHECK(*at == json(9));
}

}  // namespace json_reader_test
