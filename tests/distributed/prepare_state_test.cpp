// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/save/plan_group_save.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace prepare_state_test {

using namespace zarrpoint;

namespace {

state mixed_state() {
  return state{{"w", shard("w", std::vector<float>{1, 2}, {.offsets = {{0, 1, 2}}}).value()},
               {"o", sharded_object::make("o", json_text{"1"}, {{2}, {1}, 1}).value()},
               {"local", local_only(3)},
               {"step", 7}};
}

}  // namespace

TEST_CASE("prepare: a state is taken apart and left as it was") {
  const state mine = mixed_state();
  const auto prepared = detail::prepare_to_save(mine, json(json::object{{"v", 1}}));
  REQUIRE(prepared);
  REQUIRE(prepared->tensors.size() == 1);
  CHECK(prepared->tensors.front().key() == "w");
  REQUIRE(prepared->objects.size() == 1);
  CHECK(prepared->objects.front().key() == "o");
  CHECK(prepared->common.get<int>("step").value() == 7);
  CHECK(prepared->common.get<int>("content_metadata/v").value() == 1);
  CHECK(prepared->common.find("local") == nullptr);
  CHECK(mine.if_map()->size() == 4);
  CHECK(mine.find("content_metadata") == nullptr);
}

TEST_CASE("prepare: descriptions come back, and damaged ones are refused") {
  const auto prepared = detail::prepare_to_save(mixed_state(), json()).value();
  const message common{std::byte{'{'}, std::byte{'}'}};
  const message one = detail::describe_state(prepared, common).value();
  const std::vector<message> two{one, one};
  const auto states = detail::read_descriptions(two);
  REQUIRE(states);
  CHECK(states->shards.size() == 2);
  CHECK(states->shards.metadata(1) == prepared.tensors.front().metadata());
  REQUIRE(states->objects.size() == 2);
  CHECK(states->objects[1].rank == 1);
  CHECK(states->objects[1].id == prepared.objects.front().id());
  CHECK_FALSE(states->objects[1].is_main);
  CHECK(states->commons[1] == common);
  for (std::size_t size = 0; size < one.size(); ++size) {
    const std::vector<message> cut{{one.begin(), one.begin() + static_cast<std::ptrdiff_t>(size)}};
    CHECK_FALSE(detail::read_descriptions(cut));
  }
  for (std::size_t at = 0; at < one.size(); ++at) {
    std::vector<message> damaged{one};
    damaged.front()[at] ^= std::byte{0x81};
    static_cast<void>(detail::read_descriptions(damaged));
  }
}

}  // namespace prepare_state_test
