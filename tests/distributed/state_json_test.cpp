// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/state/state_json.hpp>
#include <zarrpoint/distributed/state/state_ops.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>

namespace state_json_test {

using namespace zarrpoint;

std::string text_of(const state& of) { return dump_json(to_json(of).value()); }

result<state> state_of(const std::string& text) {
  ZARRPOINT_TRY(document, parse_json(as_bytes(text)));
  return detail::state_from_json(document);
}

state round_trip(const state& of) { return state_of(text_of(of)).value(); }

TEST_CASE("SER-13: nested common state comes back as it was, and an empty one is not none") {
  const state nested{{"a", 3},
                     {"tuple", state::list{1, 2.0, nullptr, "text", true}},
                     {"deep", state{{"er", state::list{state::map{}, state::list{}, {}}}}},
                     {"hole", {}}};
  CHECK(diff(round_trip(nested), nested).value().empty());
  CHECK(text_of(state{{"a", 3}}) == R"({"a":3})");
  CHECK(text_of(state::map{}) == "{}");
  CHECK(text_of(state::list{}) == "[]");
  CHECK(text_of({}) == R"({"$":"hole"})");
  for (const state& empty : {state(state::map{}), state(state::list{}), state(), state(nullptr)})
    CHECK(round_trip(empty).kind() == empty.kind());
}

TEST_CASE("numbers are exact and keep their kind") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const state numbers = state::list{std::numeric_limits<std::int64_t>::min(),
                                    std::numeric_limits<std::int64_t>::max(),
                                    std::numeric_limits<std::uint64_t>::max(),
                                    0.0,
                                    -0.0,
                                    1.0,
                                    0.1,
                                    5e-324,
                                    std::numeric_limits<double>::max(),
                                    nan,
                                    -nan,
                                    std::bit_cast<double>(std::bit_cast<std::uint64_t>(nan) + 5),
                                    infinity,
                                    -infinity};
  CHECK(diff(round_trip(numbers), numbers).value().empty());
  CHECK(text_of(infinity) == R"({"$":"float64","bits":"7ff0000000000000"})");
  CHECK(state_of("[NaN]").value().find("0")->if_value()->to_double().has_value());
}

TEST_CASE("text that is not UTF-8, and keys that look like ours, come back") {
  const state odd{{"$", "hole"},
                  {"$$", state{{"$", state{{"$", 1}}}, {"bits", 2}}},
                  {"$a", std::string("\xff\0\xfe", 3)},
                  {"", std::string("\0 nul", 5)},
                  {"a/b~", std::string("\xed\xa0\x80")}};
  CHECK(diff(round_trip(odd), odd).value().empty());
  CHECK(text_of(state{{"$", 1}}) == R"({"$$":1})");
  const error key = to_json(state{{"m", state{{"\xff", 1}}}}).failure();
  CHECK(key.code == errc::invalid_argument);
  CHECK(key.message.find("\"m\"") != std::string::npos);
}

TEST_CASE("local values are left out and find their places, sharded ones are refused") {
  const state all{{"here", local_only(1)},
                  {"list", state::list{1, local_only(2), 3}},
                  {"only", state{{"local", local_only(3)}}}};
  CHECK(text_of(all) == R"({"list":[1,{"$":"hole"},3],"only":{}})");
  const state local = extract(all, of_kind(state_kind::local)).value().matching;
  CHECK(diff(merge(round_trip(all), local).value(), all).value().empty());

  const state object{{"o", sharded_object::request("o").value()}};
  const error refused = to_json(object).failure();
  CHECK(refused.code == errc::invalid_argument);
  CHECK(refused.message == "state \"o\": a sharded object is not part of the common state");
}

TEST_CASE("a tensor in a document is a leaf whose key is its path") {
  const state made =
      state_of(
          R"({"a":[{"b/c":{"$":"tensor","dtype":"int16","shape":[1,2],"base64":"AQD+/w=="}}]})")
          .value();
  const sharded_tensor* leaf = made.find("a/0/b~1c")->if_tensor();
  REQUIRE(leaf != nullptr);
  CHECK(leaf->key() == "a/0/b~1c");
  CHECK(leaf->metadata().global_shape == dims{1, 2});
  const tensor* value = leaf->get<tensor>();
  REQUIRE(value != nullptr);
  CHECK(value->data<std::int16_t>()[0] == 1);
  CHECK(value->data<std::int16_t>()[1] == -2);
  const state root =
      state_of(R"({"$":"tensor","dtype":"bool","shape":[],"base64":"AQ=="})").value();
  CHECK(root.if_tensor()->key() == "tensor");
  CHECK(to_json(made).failure().code == errc::invalid_argument);
}

TEST_CASE("documents that mean nothing are corrupt") {
  for (const char* const text :
       {R"({"$":"tensor"})", R"({"$":"tensor","dtype":"int16","shape":[2],"base64":"AQA="})",
        R"({"$":"tensor","dtype":"int16","shape":[-1],"base64":""})",
        R"({"$":"tensor","dtype":"int16","shape":[1],"base64":"A!A="})",
        R"({"$":"tensor","dtype":"int16","shape":[1.5],"base64":"AQA="})",
        R"({"$":"tensor","dtype":"int16","shape":[9223372036854775807,9],"base64":"AQA="})",
        R"({"$":"tensor","dtype":"bool","shape":[],"base64":"Ag=="})",
        R"({"$":"tensor","dtype":"int4","shape":[],"base64":"AQ=="})",
        R"({"$":"tensor","dtype":"string","shape":[0],"base64":""})",
        R"({"$":"tensor","dtype":"int8","shape":[],"base64":"AQ==","a":1})"})
    CHECK_MESSAGE(state_of(text).failure().code == errc::corrupt, text);
  for (const char* const text :
       {R"({"$":1})", R"({"$":"hol"})", R"({"$":"hole","a":1})", R"({"$":"float64"})",
        R"({"$":"float64","bits":"7ff"})", R"({"$":"float64","bits":"7FF0000000000000"})",
        R"({"$":"float64","bits":7})", R"({"$":"text","base64":"!"})", R"({"$x":1})",
        R"({"a":[{"$":null}]})"}) {
    CAPTURE(text);
    CHECK(state_of(text).failure().code == errc::corrupt);
  }
  CHECK(state_of(R"({"a":[{"$":null}]})").failure().message.find("\"a/0\"") != std::string::npos);
  const json twice = json::object{{"a", 1}, {"a", 2}};
  CHECK(detail::state_from_json(twice).failure().code == errc::corrupt);
}

TEST_CASE("a document nested too deep is refused, one just not so passes the reader of JSON") {
  state deep;
  for (std::size_t i = 0; i < detail::max_state_depth; ++i)
    deep = i % 2 == 0 ? state(state::list{std::move(deep)}) : state{{"k", std::move(deep)}};
  CHECK(diff(round_trip(deep), deep).value().empty());
  deep = state(state::list{std::move(deep)});
  CHECK(to_json(deep).failure().code == errc::resource_limit);
  const std::string text(detail::max_state_depth + 2, '[');
  CHECK(state_of(text + std::string(detail::max_state_depth + 2, ']')).failure().code ==
        errc::resource_limit);
}

TEST_CASE("documents damaged at random give a state or an error") {
  const std::string whole = text_of(state{{"$a", state::list{1, {}, 2.5, "\xff"}},
                                          {"b", std::numeric_limits<double>::infinity()}});
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp)
  std::size_t read = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = whole.substr(0, i % 3 == 0 ? random() % whole.size() : whole.size());
    if (!text.empty()) text[random() % text.size()] ^= static_cast<char>(1U << random() % 7);
    const result<state> made = state_of(text);
    if (!made) continue;
    ++read;
    CHECK(diff(round_trip(*made), *made).value().empty());
  }
  CHECK(read > 0);
}

}  // namespace state_json_test
