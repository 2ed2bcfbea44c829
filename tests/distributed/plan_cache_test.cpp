// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace plan_cache_test {

using namespace zarrpoint;

/// Counts what a process sends.
struct counting {
  thread_communicator inner;
  std::size_t* sent;

  int rank() const { return inner.rank(); }
  int size() const { return inner.size(); }
  result<std::vector<message>> exchange(std::vector<message> to_each) const {
    for (const message& one : to_each) *sent += one.size();
    return inner.exchange(std::move(to_each));
  }
};
static_assert(communicator<counting> && !native_communicator<counting>);

/// Many shards, so that a plan is large.
result<state> bring(const any_communicator& ranks, float first, index_t tensors) {
  state::map out;
  for (index_t i = 0; i < tensors; ++i) {
    std::vector<float> values(4);
    std::iota(values.begin(), values.end(), first + static_cast<float>(4 * ranks.rank()));
    ZARRPOINT_TRY(one, shard("layer." + std::to_string(i), std::move(values),
                             {.offsets = {{0, ranks.rank(), ranks.size()}}}));
    out.emplace("w" + std::to_string(i), one);
  }
  out.emplace("step", static_cast<int>(first));
  return state(std::move(out));
}

void check_values(const std::string& path, float first) {
  const auto loaded = load_plain_tensors(path).value();
  for (const auto& [key, values] : loaded) {
    CAPTURE(key);
    for (std::size_t i = 0; i < values.size(); ++i)
      REQUIRE(values.data<float>()[i] == first + static_cast<float>(i));
  }
  CHECK(load_common_state(path).value().get<float>("step").value() == first);
}

TEST_CASE("FP-10, FP-12: a kept plan is used again, without gathering what processes bring") {
  const test::temp_directory dir;
  const std::string path = dir / "m";
  const auto statuses = thread_world::run(4, [&](const thread_communicator& c) -> result<void> {
    std::size_t sent = 0;
    const process_group group{.ranks = counting{c, &sent}};
    // Thousands of files, and power does not fail here.
    const group_save_options options{
        .storage = {.sync = false, .plans = std::make_shared<plan_cache>()}};
    std::vector<std::size_t> bytes;
    for (int i = 0; i < 3; ++i) {
      const std::size_t before = sent;
      ZARRPOINT_TRY(tree, bring(group.ranks, static_cast<float>(100 * i), 200));
      ZARRPOINT_TRY(report, save(path, tree, group, options));
      bytes.push_back(sent - before);
      if (report.plan_reused != (i != 0)) return error{errc::corrupt, "the plan of another save"};
    }
    // What is left of it are receipts and a few words.
    if (c.rank() != 0 && 3 * bytes[2] > 2 * bytes[0])
      return error{errc::corrupt,
                   std::to_string(bytes[2]) + " bytes after " + std::to_string(bytes[0])};
    return {};
  });
  for (const auto& status : statuses) REQUIRE_MESSAGE(status, to_string(status.failure()));
  check_values(path, 200);

  // The same without: what is stored is the same but for the checkpoint's id.
  const std::string other = dir / "other";
  for (const auto& status : thread_world::run(4, [&](const thread_communicator& c) -> result<void> {
         const process_group group{.ranks = c};
         ZARRPOINT_TRY(tree, bring(group.ranks, 200, 200));
         ZARRPOINT_TRY(report, save(other, tree, group, {.storage = {.sync = false}}));
         return report.plan_reused ? result<void>(error{errc::corrupt, "reused"}) : result<void>();
       }))
    REQUIRE(status);
  const checkpoint a = open(path).value();
  const checkpoint b = open(other).value();
  REQUIRE(a.names() == b.names());
  for (const std::string& name : a.names())
    CHECK(a.metadata(name).value().stored_bytes == b.metadata(name).value().stored_bytes);
}

TEST_CASE("FP-11: a plan is not used for other shards, on whichever process they are") {
  const test::temp_directory dir;
  const std::string path = dir / "m";
  const auto statuses = thread_world::run(3, [&](const thread_communicator& c) -> result<void> {
    const process_group group{.ranks = c};
    const group_save_options options{.storage = {.plans = std::make_shared<plan_cache>()}};
    const auto step = [&](index_t tensors, bool reused) -> result<void> {
      ZARRPOINT_TRY(tree, bring(group.ranks, 0, tensors));
      ZARRPOINT_TRY(report, save(path, tree, group, options));
      if (report.plan_reused == reused) return {};
      return error{errc::corrupt, "reused: " + std::to_string(report.plan_reused)};
    };
    ZARRPOINT_CHECK(step(3, false));
    ZARRPOINT_CHECK(step(3, true));
    ZARRPOINT_CHECK(step(4, false));
    ZARRPOINT_CHECK(step(3, false));
    // Only one process brings something else: an object.
    ZARRPOINT_TRY(tree, bring(group.ranks, 0, 3));
    if (c.rank() == 1) {
      ZARRPOINT_TRY(object, sharded_object::make("o", json_text{"{}"}));
      tree.if_map()->emplace("o", object);
    }
    ZARRPOINT_TRY(report, save(path, tree, group, options));
    return report.plan_reused ? result<void>(error{errc::corrupt, "reused"}) : result<void>();
  });
  for (const auto& status : statuses) REQUIRE_MESSAGE(status, to_string(status.failure()));
  CHECK(load_sharded_metadata(path).value().find("o~1shard__") != nullptr);
}

TEST_CASE("FP-10: a kept plan survives a save that fails") {
  const test::temp_directory dir;
  const auto statuses = thread_world::run(2, [&](const thread_communicator& c) -> result<void> {
    const process_group group{.ranks = c};
    const group_save_options options{.storage = {.plans = std::make_shared<plan_cache>()}};
    ZARRPOINT_TRY(tree, bring(group.ranks, 0, 2));
    ZARRPOINT_CHECK(save(std::string(dir / "a"), tree, group, options));
    const auto refused = save(std::string(dir / "no/such/place"), tree, group, options);
    if (refused) return error{errc::corrupt, "saved to no place"};
    ZARRPOINT_TRY(report, save(std::string(dir / "b"), tree, group, options));
    return report.plan_reused ? result<void>() : result<void>(error{errc::corrupt, "not reused"});
  });
  for (const auto& status : statuses) REQUIRE_MESSAGE(status, to_string(status.failure()));
  check_values(dir / "b", 0);
}

}  // namespace plan_cache_test
