// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/save/plan_group_save.hpp>
#include <zarrpoint/distributed/state/state_json.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace plan_group_save_test {

using namespace zarrpoint;

namespace {

shard_metadata half(int rank) {
  return from_rank_offsets("w", {dtype_kind::float32, {2}}, {.offsets = {{0, rank, 2}}}).value();
}

/// Two processes with half a tensor each, and an object on the second.
detail::described_states two_halves() {
  detail::described_states out;
  for (int rank = 0; rank < 2; ++rank) CHECK(out.shards.add(rank, half(rank)));
  out.objects.push_back({1, {"o", {1}, {0}}, true});
  out.commons.resize(2);
  return out;
}

}  // namespace

TEST_CASE("group plan: a cell for each shard, a grid for each object, its main replica's process") {
  const group_save_options options;
  const limits limit;
  const detail::group_planner planner{options, limit};
  const auto plan = planner.plan(two_halves(), json(json::object{{"a", 1}}));
  REQUIRE(plan);
  CHECK(plan->plan.cells.size() == 2);
  CHECK(plan->plan.cells.back().writer == 1);
  REQUIRE(plan->grids.size() == 1);
  CHECK(plan->grids.front().key == "o");
  CHECK(plan->grid_writers == std::vector<int>{1});
  CHECK(plan->warnings.empty());
}

TEST_CASE("group plan: a common state that differs is a warning, one that is damaged an error") {
  const group_save_options options;
  const limits limit;
  const detail::group_planner planner{options, limit};
  detail::described_states states = two_halves();
  const auto common = to_json(state{{"a", 1}, {"b", 2}}).value();
  const auto text = as_bytes(std::string_view(R"({"a":1,"b":3})"));
  states.commons[1].assign(text.begin(), text.end());
  const auto plan = planner.plan(states, common);
  REQUIRE(plan);
  REQUIRE(plan->warnings.size() == 1);
  CHECK(plan->warnings.front() ==
        "the common state of rank 1 differs from that of rank 0, which is stored: "
        "differ: \"b\": other value");
  states.commons[1].resize(4);
  CHECK(planner.plan(states, common).failure().code == errc::corrupt);
}

TEST_CASE("group plan: an object that has two main replicas is refused by name, validated or not") {
  for (const bool validate : {false, true}) {
    for (const int other : {0, 1}) {
      group_save_options options;
      options.validate = validate;
      const limits limit;
      const detail::group_planner planner{options, limit};
      detail::described_states states = two_halves();
      states.objects.push_back({1, {"p", {2}, {0}}, true});
      states.objects.push_back({0, {"p", {2}, {1}}, true});
      REQUIRE(planner.plan(states, json()));
      states.objects.push_back({other, {"p", {2}, {0}}, false});
      REQUIRE(planner.plan(states, json()));
      states.objects.push_back({other, {"p", {2}, {0}}, true});
      const auto refused = planner.plan(states, json());
      REQUIRE_FALSE(refused);
      CHECK(refused.failure().code == errc::invalid_argument);
      CHECK(refused.failure().message.find("p/shard_0_2") != std::string::npos);
      if (!validate)
        CHECK(refused.failure().message ==
              "object \"p/shard_0_2\" has a main replica on rank 1 and "
              "another on rank " +
                  std::to_string(other));
    }
  }
}

TEST_CASE("group plan: names that cannot stand side by side, and shards that overlap") {
  group_save_options options;
  const limits limit;
  const detail::group_planner planner{options, limit};
  detail::described_states states = two_halves();
  states.objects.push_back({0, {"w/o", {1}, {0}}, true});
  CHECK(planner.plan(states, json()).failure().code == errc::invalid_argument);
  states = two_halves();
  CHECK(states.shards.add(1, half(0)));
  CHECK(planner.plan(states, json()).failure().code == errc::invalid_argument);
  options.validate = false;
  CHECK(planner.plan(states, json()).failure().code == errc::invalid_argument);
  options.fully_parallel = true;  // one of the two is stored
  CHECK(planner.plan(states, json()));
}

}  // namespace plan_group_save_test
