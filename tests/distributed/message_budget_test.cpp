// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/distributed/strategy/message_budget.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/shard_values.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace message_budget_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

/// So many tensors of one element on ranks 0 and 1; those of rank 1 have names of such a length.
state many_of(int rank, int tensors, std::size_t length) {
  state::map out;
  for (int i = 0; i < tensors && rank < 2; ++i) {
    const std::string key =
        std::string(rank == 1 ? length : 1, 'k') + std::to_string(i) + "of" + std::to_string(rank);
    out.emplace(key,
                with_values(from_rank_offsets(key, {dtype_kind::int8, {1, 1}}, {}).value(), 5));
  }
  return state(std::move(out));
}

/// What three processes say of a save, each with its own limit of memory, to what stays empty.
std::vector<std::string> save_within(const std::vector<std::size_t>& memory,
                                     const std::function<state(int)>& state_of) {
  const test::temp_directory folder;
  const int ranks = static_cast<int>(memory.size());
  const auto said = thread_world::run(ranks, [&](const thread_communicator& self) {
    process_group group = group_of(self);
    group.how.limit.memory = memory[static_cast<std::size_t>(self.rank())];
    return save(folder / "m", state_of(self.rank()), group, {.storage = {.sync = false}});
  });
  std::vector<std::string> out;
  for (const auto& one : said) out.push_back(one ? "saved" : to_string(one.failure()));
  CHECK(std::filesystem::is_empty(folder.path()) == (out[0] != "saved"));
  return out;
}

constexpr std::size_t ample = std::size_t{64} << 20;

/// A tensor of 64 KiB that every rank has.
shard_metadata copy_of(int i, int rank) {
  const std::string key = "t" + std::to_string(i);
  return from_rank_offsets(key, {dtype_kind::int8, {1 << 16}}, {.replica = rank}).value();
}

}  // namespace

TEST_CASE("message budget: counts while it lives, and names the process") {
  context with;
  with.limit.memory = 1000;
  const context how = with_scratch(with);
  {
    detail::message_budget counted(how);
    CHECK(counted.count("the plan", 3, 900));
    const error failure = counted.count("the receipt", 7, 200).failure();
    CHECK(failure.code == errc::resource_limit);
    CHECK(failure.message ==
          "the receipt of rank 7 has 200 bytes, with which the messages between the processes "
          "have more than limits::memory of 1000");
    CHECK(counted.count("the plan", 3, 100));
  }
  detail::message_budget again(how);
  const std::vector<message> all{message(400), message(5000), message(500)};
  CHECK(again.count("the receipt", all, 1));
  CHECK(has(again.count("the receipt", all, -1).failure().message, "the receipt of rank 0"));
  const context unlimited = with_scratch({});
  detail::message_budget without(unlimited);
  CHECK(without.count("the plan", 0, SIZE_MAX / 2));
}

TEST_CASE("message budget: a plan above it names its process, on all processes") {
  // Many small things: a plan has the documents of all, a receipt a few bytes of each.
  const auto state_of = [](int rank) { return many_of(rank, 300, 1); };
  bool is_plan = false;
  for (std::size_t memory = 8 << 10; memory <= ample && !is_plan; memory += memory / 4) {
    for (const std::string& text : save_within({ample, memory, ample}, state_of)) {
      CAPTURE(text);
      CHECK((text == "saved" || text.starts_with("resource_limit: save ")));
      is_plan = is_plan || has(text, "the plan of rank 1 has ");
    }
  }
  CHECK(is_plan);
}

namespace {

/// A saver whose receipts of rank 1 are large.
struct wordy_saver : zarr_saver {
  static constexpr std::string_view name = "wordy_saver";
  std::size_t bytes = 0;
  result<message> write(const save_job& job, const shard_writes& mine) const {
    ZARRPOINT_TRY(out, zarr_saver::write(job, mine));
    if (!mine.arrays.empty()) out.resize(out.size() + bytes);
    return std::move(out);
  }
};

}  // namespace

TEST_CASE("message budget: a receipt above it is refused before the commit") {
  const test::temp_directory folder;
  wordy_saver saver;
  saver.bytes = 1 << 20;
  for (const int small : {0, 1}) {
    const auto said = thread_world::run(2, [&](const thread_communicator& self) {
      process_group group = group_of(self);
      if (self.rank() == small) group.how.limit.memory = std::size_t{1} << 20;
      state tree;
      if (self.rank() == 1) tree = many_of(1, 1, 1);
      return save(folder / "m", tree, group, {.storage = {.sync = false}, .sharded = saver});
    });
    for (const auto& one : said) {
      REQUIRE_FALSE(one);
      CAPTURE(one.failure().message);
      CHECK(one.failure().code == errc::resource_limit);
      CHECK(has(one.failure().message, "the receipt of rank 1 has 10"));
    }
    CHECK(std::filesystem::is_empty(folder.path()));
  }
}

namespace {

/// What three processes say of a load, each with its own limit of memory.
std::vector<std::string> load_within(const any_store& store, const std::vector<std::size_t>& memory,
                                     const std::function<state(int)>& request_of, bool read_once) {
  const int ranks = static_cast<int>(memory.size());
  const auto said = thread_world::run(ranks, [&](const thread_communicator& self) {
    process_group group = group_of(self);
    group.how.limit.memory = memory[static_cast<std::size_t>(self.rank())];
    return load(store, request_of(self.rank()), group, {.read_once = read_once});
  });
  std::vector<std::string> out;
  for (const auto& one : said) out.push_back(one ? "loaded" : to_string(one.failure()));
  return out;
}

/// Eight tensors of 64 KiB, all of which all want.
state eight_of(int rank, bool has_values) {
  state::list out;
  for (int i = 0; i < 8; ++i)
    out.emplace_back(has_values ? with_values(copy_of(i, rank), 5) : with_room(copy_of(i, rank)));
  return state{{"l", std::move(out)}};
}

memory_store saved_by_one(const state& tree) {
  memory_store store;
  const auto said = thread_world::run(
      1, [&](const thread_communicator& self) { return save(store, tree, group_of(self)); });
  said[0].value();
  return store;
}

const std::vector<std::string> all_loaded(3, "loaded");

}  // namespace

TEST_CASE("message budget: elements that one process reads for all") {
  const memory_store store = saved_by_one(eight_of(0, true));
  const auto request_of = [](int rank) { return eight_of(rank, false); };
  // Room for what is loaded, and for some of it in messages: rank 0 says how much is in hand.
  CHECK(load_within(store, std::vector<std::size_t>(3, 1 << 20), request_of, true) == all_loaded);
  for (const bool read_once : {false, true}) {
    bool is_elements = false;
    for (std::size_t memory = 1000; memory <= (2 << 20); memory += memory / 2) {
      // Of one who reads what others want, or of one who only has it sent.
      for (const int small : {0, 2}) {
        std::vector<std::size_t> limits(3, ample);
        limits[static_cast<std::size_t>(small)] = memory;
        for (const std::string& text : load_within(store, limits, request_of, read_once)) {
          CAPTURE(text);
          CHECK((text == "loaded" || text.starts_with("resource_limit: ")));
          is_elements = is_elements || has(text, "what is read of rank ");
        }
      }
    }
    CHECK(load_within(store, {ample, ample, ample}, request_of, read_once) == all_loaded);
    CHECK(is_elements == read_once);
  }
}

TEST_CASE("message budget: descriptions of what is to be loaded") {
  // One tensor, whose document is short, in many parts.
  constexpr int parts = 4000;
  const auto request_of = [](int rank) {
    state::list out;
    for (int i = 0; i < parts && rank == 1; ++i) {
      const std::string key(200, 'k');
      out.emplace_back(with_room(
          from_rank_offsets(key, {dtype_kind::int8, {1}}, {.offsets = {{0, i, parts}}}).value()));
    }
    return state{{"l", std::move(out)}};
  };
  const memory_store store = saved_by_one(state{
      {"a",
       with_values(
           from_rank_offsets(std::string(200, 'k'), {dtype_kind::int8, {parts}}, {}).value(), 5)}});
  for (const bool read_once : {false, true}) {
    CHECK(load_within(store, {ample, ample, ample}, request_of, read_once) == all_loaded);
    // Of the process that brings it, of rank 0, and of another, to which it goes to choose readers.
    for (const int small : {1, 0, 2}) {
      std::vector<std::size_t> limits(3, ample);
      limits[static_cast<std::size_t>(small)] = 8000;
      for (const std::string& text : load_within(store, limits, request_of, read_once)) {
        CAPTURE(text);
        const bool is_free = small == 2 && !read_once;
        CHECK((is_free ? text == "loaded" : has(text, "the description of rank 1 has ")));
      }
    }
  }
}

}  // namespace message_budget_test
