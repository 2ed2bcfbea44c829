// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array.hpp>
#include <zarrpoint/nlohmann.hpp>
#include <zarrpoint/stores.hpp>
#include <zarrpoint/zarr.hpp>

#include "../support/random_rounds.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

// nlohmann/json is the oracle of the library's own reader of JSON.
namespace nlohmann_test {

using namespace zarrpoint;
using nlohmann::ordered_json;

namespace {

/// What nlohmann/json makes of a text; discarded where it refuses it.
ordered_json theirs(const std::string& text) {
  return ordered_json::parse(text.begin(), text.end(), nullptr, false);
}

bool has_twice(const std::string& text) {
  std::vector<std::vector<std::string>> keys;
  bool twice = false;
  const auto note = [&](int, nlohmann::detail::parse_event_t event, ordered_json& value) {
    if (event == nlohmann::detail::parse_event_t::object_start) keys.emplace_back();
    if (event == nlohmann::detail::parse_event_t::object_end) keys.pop_back();
    if (event == nlohmann::detail::parse_event_t::key) {
      for (const std::string& one : keys.back()) twice = twice || value == one;
      keys.back().push_back(value.get<std::string>());
    }
    return true;
  };
  const ordered_json parsed = ordered_json::parse(text.begin(), text.end(), note, false);
  return twice && !parsed.is_discarded();
}

struct tally {
  int taken = 0, refused = 0, special = 0;
};

/// Both take a text, and make the same of it, or both refuse it. What we decide otherwise on
/// purpose is told apart by its error: keys that are there twice, integers beyond 64 bits.
void compare(const std::string& text, tally& count) {
  CAPTURE(text);
  const auto ours = parse_json(as_bytes(text), {.allow_nan_literals = false});
  const ordered_json other = theirs(text);
  if (ours) {
    REQUIRE_FALSE(other.is_discarded());
    REQUIRE(to_nlohmann(*ours) == other);
    REQUIRE(to_nlohmann(*ours).dump() == other.dump());
    ++count.taken;
  } else if (ours.failure().code == errc::out_of_range) {
    ++count.special;
  } else if (ours.failure().message.find("duplicate key") != std::string::npos) {
    REQUIRE(has_twice(text));
    ++count.special;
  } else {
    REQUIRE(other.is_discarded());
    ++count.refused;
  }
}

}  // namespace

TEST_CASE("nlohmann: our reader of JSON takes and makes what it takes and makes") {
  tally count;
  for (const char* text : {"null",
                           " true ",
                           "[]",
                           "{}",
                           "\"\\u00e9\\ud83d\\ude00\\/\\u0000\"",
                           "\xef\xbb\xbf[1]",
                           "\xef\xbb[1]",
                           "-0",
                           "-0.0",
                           "1e-999",
                           "1e999",
                           "[1,]",
                           "{\"a\" 1}",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\\ud800\\u0041\"",
                           "\"\\uD83D\\uDE00\"",
                           "\"\\u12g4\"",
                           "\"\\u\"",
                           "\x80",
                           "\"\xc0\x80\"",
                           "\"\xed\xa0\x80\"",
                           "\"\x7f\"",
                           "\"\x1f\"",
                           "01",
                           "-",
                           "1.",
                           "2e",
                           "2e+",
                           "[1e5,1E-5,1e+5]",
                           "tru",
                           "nulll",
                           "{\"a\":{\"a\":1},\"a\":2}",
                           "18446744073709551616"})
    compare(text, count);
  CHECK(count.taken >= 9);
  CHECK(count.special == 2);

  const std::string document =
      "{\"zarr_format\": 3, \"a\": [1.5e3, -0.0, 1e-999, -12, 18446744073709551615, "
      "\"h\\u00e9\\ud83d\\ude00\xc3\xa9\\\"\\n\\/\"], \"b\":\t{\"c\": null, \"d\": [true,false], "
      "\"e\":{}}}";
  for (std::size_t length = 0; length <= document.size(); ++length)
    compare(document.substr(0, length), count);
  // Bytes that mean something to JSON, so that much of what comes of it is a document.
  constexpr std::string_view marks = "{}[]\",:\\0123456789-+.eEaAdDfF \t\ntfnu/\xc3\xa9\x7f\x01";
  std::mt19937 random(4);
  constexpr int rounds = zarrpoint_test::random_rounds(60000);
  for (int round = 0; round < rounds; ++round) {
    std::string damaged = document;
    for (int edits = 1 + static_cast<int>(random() % 2); edits > 0; --edits)
      damaged[random() % damaged.size()] =
          random() % 16 == 0 ? static_cast<char>(random() & 0xff) : marks[random() % marks.size()];
    compare(damaged, count);
  }
  CHECK(count.taken > rounds * 7 / 60);
  CHECK(count.refused > rounds / 3);
}

TEST_CASE("nlohmann: a node there and back") {
  const std::string text =
      R"({"z":[null,true,-1,18446744073709551615,0.5,"é"],"a":{"b":{},"c":[]}})";
  const json from = parse_json(as_bytes(text)).value();
  CHECK(to_nlohmann(from).dump() == text);
  CHECK(from_nlohmann(to_nlohmann(from)).value() == from);
  CHECK(from_nlohmann(to_nlohmann<nlohmann::json>(from)).value().find("a") != nullptr);
  CHECK(std::isnan(to_nlohmann(json(std::nan(""))).get<double>()));
  const auto binary = from_nlohmann(nlohmann::json{{"b", nlohmann::json::binary({1, 2})}});
  REQUIRE_FALSE(binary);
  CHECK(binary.failure().code == errc::unsupported);
  CHECK(binary.failure().message == "JSON has no binary value");
}

TEST_CASE("nlohmann: attributes of a group") {
  memory_store store;
  group root = group::create(store).value();
  root.set_attributes(json::object{{"site", "north"}}).value();
  nlohmann::ordered_json attributes = to_nlohmann(root.attributes());
  attributes["scale"] = 0.5;
  root.set_attributes(from_nlohmann(attributes).value()).value();
  CHECK(dump_json(group::open(store).value().attributes()) == R"({"site":"north","scale":0.5})");
}

}  // namespace nlohmann_test
