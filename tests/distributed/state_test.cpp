// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/state/state.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace state_test {

using namespace zarrpoint;

static_assert(sizeof(state) <= 64);

TEST_CASE("a state is written as it nests") {
  const state w = shard("w", std::vector<float>{1, 2}).value();
  const state s{{"step", 1200},
                {"name", "run"},
                {"nothing", nullptr},
                {"layers", state::list{{{"w", w}}, {{"w", w}, {"bias", true}}, 2.5}},
                {"empty map", state::map{}},
                {"empty list", state::list{}},
                {"hole", {}},
                {"object", sharded_object::from_bytes("o", {}).value()},
                {"here", local_only(7)}};
  CHECK(s.kind() == state_kind::map);
  CHECK(s.is_container());
  CHECK(s.if_map()->size() == 9);
  CHECK(s.find("layers")->if_list()->size() == 3);
  CHECK(s.find("layers/0/w")->if_tensor()->key() == "w");
  CHECK(s.find("layers/0/w")->if_tensor()->get<std::vector<float>>() ==
        w.if_tensor()->get<std::vector<float>>());
  CHECK(s.find("layers/2")->kind() == state_kind::value);
  CHECK(s.find("nothing")->if_value()->is_null());
  CHECK(s.find("empty map")->kind() == state_kind::map);
  CHECK(s.find("empty list")->kind() == state_kind::list);
  CHECK(s.find("hole")->is_hole());
  CHECK(s.find("object")->if_object()->key() == "o");
  CHECK(*s.find("here")->if_local()->get<int>() == 7);
  CHECK(s.find("here")->if_factory() == nullptr);
  CHECK(s.find("") == &s);
  CHECK(state{{"a", 1}, {"a", 2}}.get<int>("a").value() == 1);
  CHECK(to_string(s.find("object")->kind()) == "sharded object");
}

TEST_CASE("a path finds what is there, whatever the keys are made of") {
  const state s{{"a/b", state::list{1, state{{"~", 2}, {"", 3}}}}, {"0", 4}};
  CHECK(s.get<int>("a~1b/0").value() == 1);
  CHECK(s.get<int>("a~1b/1/~0").value() == 2);
  CHECK(s.get<int>("a~1b/1/~").value() == 3);
  CHECK(s.get<int>("0").value() == 4);
  for (const char* const path :
       {"a", "a/b", "a~1b/2", "a~1b/00", "a~1b/x", "0/0", "/0", "0/", "~3", "a~1b//0", "a~1b/"})
    CHECK(s.find(path) == nullptr);
  const error missing = s.at("a~1b/9").failure();
  CHECK(missing.code == errc::not_found);
  CHECK(missing.message.find("a~1b/9") != std::string::npos);
}

TEST_CASE("common values are asked for by type, and integers are exact") {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const state s{
      {"most", most}, {"least", least}, {"pi", 3.25F}, {"text", std::string("t")}, {"yes", true}};
  CHECK(s.get<std::uint64_t>("most").value() == most);
  CHECK(s.get<std::int64_t>("least").value() == least);
  CHECK(s.get<float>("pi").value() == 3.25F);
  CHECK(s.get<double>("least").value() == -0x1p63);
  CHECK(s.get<std::string>("text").value() == "t");
  CHECK(s.get<bool>("yes").value());
  CHECK(state(7).get<signed char>().value() == 7);
  CHECK(s.get<std::int64_t>("most").failure().code == errc::out_of_range);
  CHECK(s.get<std::uint64_t>("least").failure().code == errc::out_of_range);
  CHECK(state(128).get<signed char>().failure().code == errc::out_of_range);
  CHECK(s.get<int>("pi").failure().code == errc::dtype_mismatch);
  CHECK(s.get<int>("yes").failure().code == errc::dtype_mismatch);
  CHECK(s.get<bool>("pi").failure().code == errc::dtype_mismatch);
  CHECK(s.get<double>("text").failure().code == errc::dtype_mismatch);
  CHECK(s.get<std::string>("pi").failure().code == errc::dtype_mismatch);
  CHECK(s.get<int>("none").failure().code == errc::not_found);
  CHECK(s.get<int>().failure().code == errc::dtype_mismatch);
}

TEST_CASE("what is taken away leaves its list as long as it was") {
  const state before{{"list", state::list{1, 2, 3}}, {"map", state{{"a", 1}, {"b~", 2}}}};
  state s = before;
  CHECK(s.erase("list/1"));
  CHECK(s.find("list")->if_list()->size() == 3);
  CHECK(s.find("list/1")->is_hole());
  CHECK(s.get<int>("list/2").value() == 3);
  CHECK(s.erase("map/b~0"));
  CHECK(s.find("map")->if_map()->size() == 1);
  CHECK_FALSE(s.erase("map/b~0"));
  CHECK(s.erase("map"));
  CHECK(s.find("map") == nullptr);
  CHECK(s.erase(""));
  CHECK(s.is_hole());
  CHECK(before.get<int>("list/1").value() == 2);
}

TEST_CASE("a copy is another state of the same tensors") {
  state a{{"w", shard("w", std::vector<float>{1, 2}).value()}, {"n", state::list{1}}};
  state b = a;
  *b.find("n/0") = 2;
  CHECK(a.get<int>("n/0").value() == 1);
  CHECK(a.find("w")->if_tensor() == b.find("w")->if_tensor());
  const state moved = std::move(b);
  CHECK(moved.get<int>("n/0").value() == 2);
}

}  // namespace state_test
