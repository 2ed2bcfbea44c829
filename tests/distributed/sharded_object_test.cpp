// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/shard/sharded_object.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <random>

namespace sharded_object_test {

namespace {

using namespace zarrpoint;

/// A value of the user's: a counter, written in decimal.
struct step {
  int number = 0;

  struct zarrpoint_handler {
    static constexpr std::string_view typestr = "step";
    static result<std::vector<std::byte>> to_bytes(const step& value) {
      if (value.number < 0) return error{errc::invalid_argument, "a negative step"};
      const std::string text = std::to_string(value.number);
      const bytes_view bytes = as_bytes(text);
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    }
    static result<step> from_bytes(bytes_view stored) {
      step out;
      for (const char digit : as_text(stored)) {
        if (digit < '0' || digit > '9') return error{errc::corrupt, "not a step"};
        out.number = out.number * 10 + (digit - '0');
      }
      return out;
    }
  };
};

errc code_of(const object_id& id) {
  const auto checked = id.check();
  REQUIRE_FALSE(checked);
  return checked.failure().code;
}

errc refused(std::string_view text) {
  CAPTURE(text);
  const auto parsed = parse_unique_key(text);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.failure().message.find('"') != std::string::npos);
  return parsed.failure().code;
}

}  // namespace

TEST_CASE("an object is made from any type with a blob handler, and given back") {
  const auto made = sharded_object::make("rng", step{1207}, {{1, 8}, {0, 3}, {0, 1}}).value();
  CHECK(made.key() == "rng");
  CHECK(made.replica() == replica_id{0, 1});
  CHECK(made.global_shape() == dims{1, 8});
  CHECK(made.global_offset() == dims{0, 3});
  CHECK(made.unique_key() == "rng/shard_0.3_1.8");
  CHECK(as_text(made.bytes()) == "1207");
  CHECK(made.get<step>().value().number == 1207);
  CHECK(made.get<json_text>().value().text == "1207");
  CHECK(made.validate());
  CHECK(sharded_object::make("rng", step{-1}).failure().message == "a negative step");

  const sharded_object words = sharded_object::from_bytes("rng", {std::byte{'x'}}, {}).value();
  CHECK(words.get<step>().failure().code == errc::corrupt);
  CHECK(words.get<step>().failure().message == "object \"rng\": not a step");
}

TEST_CASE("a request has no value until one is loaded into a copy of it") {
  const sharded_object asked = sharded_object::request("k").value();
  CHECK_FALSE(asked.has_data());
  CHECK(asked.bytes().empty());
  CHECK(asked.get<step>().failure().code == errc::invalid_argument);

  const sharded_object loaded = asked.with_bytes({});
  CHECK(loaded.has_data());  // empty, but there
  CHECK_FALSE(asked.has_data());
  CHECK_FALSE(loaded == asked);
  CHECK(loaded.without_data() == asked);
  CHECK(asked.with_replica(2).replica() == replica_id(2));
  CHECK(asked.with_key("other").key() == "other");
  CHECK_FALSE(asked.with_key("").validate());
}

TEST_CASE("unique keys are read back, those of rank 0 and of odd keys too") {
  const std::vector<object_id> ids = {{"k", {}, {}},
                                      {"ObjB", {1, 8}, {0, 3}},
                                      {"a/b/c", {2}, {1}},
                                      {"_extra_state", {3}, {2}},
                                      {"a_b/c_d/shard_0_1", {}, {}},
                                      {"x/", {4}, {0}},
                                      {"/", {4}, {0}},
                                      {"\xc3\xa9 \n", {4}, {0}},
                                      {"k", dims(max_rank, 1), dims(max_rank, 0)}};
  for (const object_id& id : ids) {
    const std::string text = unique_key(id);
    CAPTURE(text);
    CHECK(parse_unique_key(text).value() == id);
  }
  CHECK(unique_key({"k", {}, {}}) == "k/shard__");
  CHECK(unique_key({"ObjB", {1, 8}, {0, 3}}) == "ObjB/shard_0.3_1.8");
}

TEST_CASE("texts that are not a unique key are refused") {
  for (const std::string_view text : {"",
                                      "k",
                                      "/",
                                      "k/",
                                      "k/shard",
                                      "k/shard_",
                                      "k/shard_0",
                                      "k/Shard_0_1",
                                      "k/xshard_0_1",
                                      "/shard_0_1",
                                      "k/shard_0_1/",
                                      "k/shard_0_1_2",
                                      "k/shard_0._1.1",
                                      "k/shard_.0_1.1",
                                      "k/shard_0..0_1.1.1",
                                      "k/shard_0_",
                                      "k/shard__1",
                                      "k/shard_0_1.1",
                                      "k/shard_+0_1",
                                      "k/shard_-1_1",
                                      "k/shard_ 0_1",
                                      "k/shard_0 _1",
                                      "k/shard_00_1",
                                      "k/shard_0x0_1",
                                      "k/shard_0_9223372036854775808",
                                      "k/shard_0_1.pt"})
    CHECK(refused(text) == errc::corrupt);
  CHECK(refused("k/shard_1_1") == errc::out_of_range);
  CHECK(refused("k/shard_0.8_1.8") == errc::out_of_range);
  CHECK(refused("k/shard_0_0") == errc::out_of_range);
  CHECK(refused("k/shard_0.0_9223372036854775807.2") == errc::out_of_range);

  std::string deep = "k/shard_0";
  for (int i = 0; i < 100000; ++i) deep += ".0";
  CHECK(refused(deep + "_1") == errc::corrupt);
}

TEST_CASE("the last extent, which old writers lost, is found again") {
  const std::vector<std::string> old = {"a/shard_0.3_1", "b/shard_0_2",   "a/shard_0.0_1",
                                        "c/shard__",     "d/shard_0.1_1", "e/shard_1.1_2.2"};
  const std::vector<object_id> wanted = {{"a", {1, 4}, {0, 3}}, {"b", {2}, {0}},
                                         {"a", {1, 4}, {0, 0}}, {"c", {}, {}},
                                         {"d", {1, 2}, {0, 1}}, {"e", {2, 2}, {1, 1}}};
  CHECK(parse_unique_keys(old).value() == wanted);
  CHECK(parse_unique_keys({}).value().empty());
  CHECK(refused("a/shard_0.3_1") == errc::corrupt);  // alone, nothing tells it

  const auto code = [](std::string text) {
    return parse_unique_keys(std::vector<std::string>{"a/shard_0_1", text}).failure().code;
  };
  CHECK(code("a/shard_0_") == errc::corrupt);
  CHECK(code("a/shard_0.0.0_1") == errc::corrupt);
  CHECK(code("a/shard_1.0_1") == errc::out_of_range);
  CHECK(code("a/shard_0.9223372036854775807_1") == errc::out_of_range);
  CHECK(code("a/shard_0.0.9223372036854775806_1.2") == errc::out_of_range);
  CHECK(code("a") == errc::corrupt);
}

TEST_CASE("what parses is written the same, whatever was flipped") {
  std::mt19937 random(5);
  const std::string good = "a/shard_10.3_12.8";
  int parsed_count = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text = good.substr(0, 1 + random() % good.size());
    for (std::size_t i = 0; i < 1 + random() % 2; ++i)
      text[random() % text.size()] = "0189._-/sx"[random() % 10];
    const auto parsed = parse_unique_key(text);
    if (!parsed) continue;
    ++parsed_count;
    CHECK(unique_key(*parsed) == text);
  }
  CHECK(parsed_count > 0);
}

TEST_CASE("MAP-8: the offset of an object stays inside its grid") {
  CHECK(code_of({"", {}, {}}) == errc::invalid_argument);
  CHECK(code_of({"k", {2}, {}}) == errc::invalid_argument);
  CHECK(code_of({"k", {2}, {0, 0}}) == errc::invalid_argument);
  CHECK(code_of({"k", {2}, {2}}) == errc::out_of_range);
  CHECK(code_of({"k", {2}, {-1}}) == errc::out_of_range);
  CHECK(code_of({"k", {0}, {0}}) == errc::out_of_range);
  CHECK(code_of({"k", {-2}, {-3}}) == errc::out_of_range);
  const index_t largest = std::numeric_limits<index_t>::max();
  CHECK(code_of({"k", {largest, 2}, {0, 0}}) == errc::out_of_range);
  CHECK(object_id{"k", {largest}, {largest - 1}}.check());
  CHECK_FALSE(sharded_object::make("k", step{1}, {{2}, {2}}));
  CHECK_FALSE(sharded_object::request("k", {{2}, {2}}));
}

TEST_CASE("an object is not resharded") {
  const sharded_object asked = sharded_object::request("k", {{1, 4}, {0, 3}}).value();
  CHECK(asked.check_same_grid({1, 4}));
  for (const dims& stored : {dims{1, 8}, dims{4}, dims{}, dims{4, 1}}) {
    const auto differs = asked.check_same_grid(stored);
    REQUIRE_FALSE(differs);
    CHECK(differs.failure().code == errc::shape_mismatch);
  }
  CHECK(asked.check_same_grid({1, 8}).failure().message ==
        "object \"k\": stored in a grid of [1, 8], asked for in one of [1, 4]; objects are not "
        "resharded");
}

}  // namespace sharded_object_test
