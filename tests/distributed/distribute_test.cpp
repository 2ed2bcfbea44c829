// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/plan/save_plan.hpp>

#include "support/random_rounds.hpp"
#include "support/random_sharding.hpp"

#include <doctest/doctest.h>

#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace distribute_test {

namespace {

using namespace zarrpoint;
using namespace test_support;

using holders = std::vector<int>;
using ranks_of_keys = std::map<std::string, std::vector<int>>;

/// A tensor of `size` bytes that several processes hold whole; `main` is one of them, or none.
void add_whole(detail::shard_table& table, const std::string& key, index_t size,
               const holders& ranks, int main) {
  for (const int rank : ranks)
    REQUIRE(table.add(rank, {.key = key,
                             .type = dtype_kind::uint8,
                             .local_shape = {size},
                             .global_shape = {size},
                             .global_offset = {0},
                             .fragmentation = dims{1},
                             .replica = rank == main ? 0 : 1}));
}

/// Who was given the shards of each key, by offset; of one group only where it is said.
ranks_of_keys assigned(const detail::shard_table& table, const detail::distribution& how = {},
                       int group = -1) {
  ranks_of_keys out;
  for (const std::uint32_t i : detail::distribute(table, how).value()) {
    const int rank = table.rank(i);
    if (group == -1 || how.group_of[static_cast<std::size_t>(rank)] == group)
      out[table.form(i).key].push_back(rank);
  }
  return out;
}

/// The state of the scenarios FP-1 and FP-2: 8 processes, of which every other one is of one half
/// of the tensors that are divided in two.
detail::shard_table eight_processes() {
  detail::shard_table table;
  for (int rank = 0; rank < 8; ++rank) {
    for (const char* key : {"key_TP_repl1", "key_TP_repl2"})
      REQUIRE(table.add(rank, {.key = key,
                               .type = dtype_kind::float32,
                               .local_shape = {10},
                               .global_shape = {20},
                               .global_offset = {10 * (rank % 2)},
                               .fragmentation = dims{2},
                               .replica = rank / 2}));
    REQUIRE(table.add(rank, {.key = "keyB",
                             .type = dtype_kind::float32,
                             .local_shape = {20},
                             .global_shape = {160},
                             .global_offset = {20 * rank},
                             .fragmentation = dims{8}}));
    for (const auto& [key, size] : {std::pair("keyC", 100), {"keyD", 1000}, {"keyE", 100}})
      REQUIRE(table.add(rank, {.key = key,
                               .type = dtype_kind::float32,
                               .local_shape = {size},
                               .global_shape = {size},
                               .global_offset = {0},
                               .fragmentation = dims{1},
                               .replica = rank}));
  }
  return table;
}

const std::vector<int> by_parity{0, 1, 0, 1, 0, 1, 0, 1};

/// Tensors at (tp, dp) places, the first of which has the main replica; tp is counted first.
detail::shard_table placed(int tp,
                           const std::map<std::string, std::vector<std::pair<int, int>>>& places) {
  detail::shard_table table;
  for (const auto& [key, where] : places) {
    holders ranks;
    for (const auto& [t, d] : where) ranks.push_back(t + tp * d);
    const int main = ranks.front();
    std::sort(ranks.begin(), ranks.end());
    add_whole(table, key, 4, ranks, main);
  }
  return table;
}

std::vector<int> groups_by(int tp) {
  std::vector<int> out;
  for (int rank = 0; rank < 8; ++rank) out.push_back(rank % tp);
  return out;
}

/// What one process reads of the shards that another wrote.
std::map<std::string, int> cross_reads(const detail::shard_table& table,
                                       const std::vector<int>& groups) {
  const ranks_of_keys saved = assigned(table, {groups});
  std::map<std::string, int> out;
  for (const auto& [key, readers] : assigned(table, {groups, true})) {
    for (const int reader : readers) {
      if (saved.at(key) != std::vector<int>{reader}) out[key] = reader;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("golden rows 23 to 28: the order and the ties of the assignment") {
  const holders three{0, 1, 2};
  const holders two{0, 1};
  {
    detail::shard_table table;
    for (index_t i = 0; i < 5; ++i)
      add_whole(table, std::string(1, static_cast<char>('a' + i)), 10 - i, three, 0);
    CHECK(assigned(table) ==
          ranks_of_keys{{"a", {0}}, {"b", {1}}, {"c", {2}}, {"d", {2}}, {"e", {1}}});
  }
  {
    detail::shard_table table;
    add_whole(table, "big", 100, three, 0);
    add_whole(table, "s0", 1, {0}, 0);
    add_whole(table, "s1", 1, {1, 2}, 1);
    CHECK(assigned(table) == ranks_of_keys{{"s0", {0}}, {"s1", {1}}, {"big", {2}}});
  }
  {
    detail::shard_table table;
    add_whole(table, "p", 4, {2, 3}, 2);
    add_whole(table, "q", 4, {2, 3}, 2);
    add_whole(table, "r", 8, {0, 1, 2, 3}, 0);
    add_whole(table, "s", 1, {0, 1, 2, 3}, 0);
    CHECK(assigned(table) == ranks_of_keys{{"p", {2}}, {"q", {3}}, {"r", {0}}, {"s", {1}}});
  }
  {
    detail::shard_table table;
    add_whole(table, "big", 100, {0, 1}, -1);
    add_whole(table, "m", 3, two, 0);
    add_whole(table, "s", 2, two, 0);
    CHECK(assigned(table, {{}, true}) == ranks_of_keys{{"m", {0}}, {"s", {1}}, {"big", {1}}});
    CHECK(assigned(table) == ranks_of_keys{{"m", {0}}, {"s", {1}}});
  }
  {
    detail::shard_table table;
    const index_t sizes[] = {64, 64, 32, 32, 16, 8, 8};
    for (std::size_t i = 0; i < 7; ++i)
      add_whole(table, "t" + std::to_string(i), sizes[i], {0, 1, 2, 3}, 0);
    CHECK(assigned(table) == ranks_of_keys{{"t0", {0}},
                                           {"t1", {1}},
                                           {"t2", {2}},
                                           {"t3", {3}},
                                           {"t4", {2}},
                                           {"t5", {3}},
                                           {"t6", {3}}});
  }
  {
    detail::shard_table table;
    add_whole(table, "e0", 0, two, 0);
    add_whole(table, "e1", 0, two, 0);
    add_whole(table, "n", 4, two, 0);
    CHECK(assigned(table) == ranks_of_keys{{"n", {0}}, {"e0", {1}}, {"e1", {1}}});
  }
}

TEST_CASE("FP-1: who saves, over all processes and within the groups of replicas") {
  const detail::shard_table table = eight_processes();
  CHECK(assigned(table) == ranks_of_keys{{"keyB", {0, 1, 2, 3, 4, 5, 6, 7}},
                                         {"key_TP_repl1", {0, 1}},
                                         {"key_TP_repl2", {2, 3}},
                                         {"keyD", {4}},
                                         {"keyC", {5}},
                                         {"keyE", {6}}});
  // Numbers within a group are half of those of the process.
  CHECK(assigned(table, {by_parity}, 0) == ranks_of_keys{{"keyB", {0, 2, 4, 6}},
                                                         {"keyD", {0}},
                                                         {"keyC", {2}},
                                                         {"keyE", {4}},
                                                         {"key_TP_repl1", {6}},
                                                         {"key_TP_repl2", {6}}});
  CHECK(assigned(table, {by_parity}, 1) ==
        ranks_of_keys{{"keyB", {1, 3, 5, 7}}, {"key_TP_repl1", {1}}, {"key_TP_repl2", {3}}});
}

TEST_CASE("FP-2: who loads; what another group saved comes last") {
  const detail::shard_table table = eight_processes();
  CHECK(assigned(table, {{}, true}) == assigned(table));
  CHECK(assigned(table, {by_parity, true}, 0) == assigned(table, {by_parity}, 0));
  CHECK(assigned(table, {by_parity, true}, 1) == ranks_of_keys{{"keyB", {1, 3, 5, 7}},
                                                               {"key_TP_repl1", {1}},
                                                               {"key_TP_repl2", {3}},
                                                               {"keyD", {5}},
                                                               {"keyC", {7}},
                                                               {"keyE", {1}}});
}

TEST_CASE("FP-6: all processes are one group: what is saved by one is read by it") {
  const detail::shard_table table =
      placed(1, {{"a", {{0, 0}}},
                 {"b", {{0, 1}}},
                 {"c", {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}, {0, 6}, {0, 7}}}});
  CHECK(assigned(table, {groups_by(1)}) == ranks_of_keys{{"a", {0}}, {"b", {1}}, {"c", {2}}});
  CHECK(cross_reads(table, groups_by(1)).empty());
}

TEST_CASE(
    "FP-7: each process is a group: what all hold is saved by the main replica, read by all") {
  std::vector<std::pair<int, int>> all;
  for (int tp = 0; tp < 8; ++tp) all.emplace_back(tp, 0);
  const detail::shard_table table = placed(8, {{"a", {{0, 0}}}, {"b", {{1, 0}}}, {"c", all}});
  CHECK(assigned(table, {groups_by(8)}) == ranks_of_keys{{"a", {0}}, {"b", {1}}, {"c", {0}}});
  CHECK(assigned(table, {groups_by(8), true}) ==
        ranks_of_keys{{"a", {0}}, {"b", {1}}, {"c", {0, 1, 2, 3, 4, 5, 6, 7}}});
}

TEST_CASE("FP-8: a tensor that only one process has is saved and read by it") {
  const detail::shard_table table = placed(1, {{"a", {{0, 2}}}});
  CHECK(assigned(table, {groups_by(1)}) == ranks_of_keys{{"a", {2}}});
  CHECK(cross_reads(table, groups_by(1)).empty());
}

TEST_CASE("FP-9: reads of another group's tensors do not disturb the assignment of one's own") {
  std::vector<std::pair<int, int>> all;
  for (int dp = 0; dp < 4; ++dp) {
    all.emplace_back(0, dp);
    all.emplace_back(1, dp);
  }
  const detail::shard_table table = placed(2, {{"a", {{0, 0}}},
                                               {"b", all},
                                               {"c", {{0, 0}, {0, 1}, {0, 2}}},
                                               {"d", {{1, 0}, {0, 0}, {1, 3}}},
                                               {"e", {{1, 0}, {1, 2}}},
                                               {"f", {{1, 0}, {0, 0}, {1, 2}}},
                                               {"g", {{1, 3}}}});
  CHECK(assigned(table, {groups_by(2)}) ==
        ranks_of_keys{
            {"a", {0}}, {"b", {4}}, {"c", {2}}, {"d", {1}}, {"e", {5}}, {"f", {1}}, {"g", {7}}});
  CHECK(cross_reads(table, groups_by(2)) ==
        std::map<std::string, int>{{"d", 0}, {"f", 0}, {"b", 3}});
}

TEST_CASE("random states: as the rules say, written out, and each shard is stored once" *
          doctest::skip(zarrpoint_test::is_about_threads)) {
  random_source random(9);
  for (int round = 0; round < zarrpoint_test::random_rounds(400); ++round) {
    const int ranks = static_cast<int>(pick(random, 1, 7));
    std::vector<shard_metadata> shards;
    for (const char* key : {"a", "b", "c"}) {
      const std::vector<shard_metadata> some = random_tensor(random, key);
      shards.insert(shards.end(), some.begin(), some.end());
    }
    const std::vector<test_support::gathered_shard> held = spread(random, shards, ranks);
    const detail::shard_table table = test_support::make_shard_table(held).value();
    detail::distribution how;
    for (int rank = 0; rank < ranks; ++rank)
      how.group_of.push_back(static_cast<int>(pick(random, 0, 2)));
    how.from_other_groups = pick(random, 0, 1) == 0;

    // Identity: key, offset, range, shape. For each group: who holds it, whether the main one.
    using identity =
        std::tuple<std::string, std::vector<index_t>, index_t, index_t, std::vector<index_t>>;
    struct known {
      std::set<int> ranks;
      bool has_main = false;
      index_t bytes = 0;
    };
    std::map<int, std::map<identity, known>> groups;
    const auto identity_of = [](const shard_metadata& s) {
      return identity{s.key,
                      {s.global_offset.begin(), s.global_offset.end()},
                      s.range ? s.range->start : 0,
                      s.range ? s.range->stop : -1,
                      {s.local_shape.begin(), s.local_shape.end()}};
    };
    for (const test_support::gathered_shard& one : held) {
      known& at = groups[how.group_of[static_cast<std::size_t>(one.rank)]][identity_of(one.shard)];
      at.ranks.insert(one.rank);
      at.has_main = at.has_main || one.shard.replica.is_main();
      at.bytes = 2 * element_count(one.shard.data_shape()).value();
    }
    std::map<std::pair<int, identity>, int> expected;
    for (const auto& [group, all] : groups) {
      std::vector<std::tuple<bool, std::size_t, index_t, identity>> order;
      for (const auto& [id, at] : all) {
        if (at.has_main || how.from_other_groups)
          order.emplace_back(!at.has_main, at.ranks.size(), -at.bytes, id);
      }
      std::sort(order.begin(), order.end());
      std::map<int, index_t> loads;
      for (const auto& [foreign, holding, bytes, id] : order) {
        std::pair<index_t, int> best{INT64_MAX, 0};
        for (const int rank : all.at(id).ranks) best = std::min(best, std::pair(loads[rank], rank));
        loads[best.second] -= bytes;
        expected[{group, id}] = best.second;
      }
    }
    const std::vector<std::uint32_t> chosen = detail::distribute(table, how).value();
    std::map<std::pair<int, identity>, int> got;
    for (const std::uint32_t i : chosen)
      REQUIRE(got.emplace(std::pair(how.group_of[static_cast<std::size_t>(table.rank(i))],
                                    identity_of(table.metadata(i))),
                          table.rank(i))
                  .second);
    REQUIRE(got == expected);
    if (how.from_other_groups) continue;
    // What is chosen tiles the tensors as the main replicas do: other writers, the same cells.
    const detail::save_plan plan = detail::plan_save(table, chosen).value();
    const detail::save_plan mains = detail::plan_save(table, detail::main_shards(table)).value();
    REQUIRE(plan.cells.size() == mains.cells.size());
    for (std::size_t i = 0; i < plan.cells.size(); ++i)
      REQUIRE(plan.cells[i].index == mains.cells[i].index);
  }
}

TEST_CASE("a process without a group is refused; nothing is distributed over nobody") {
  const detail::shard_table table = eight_processes();
  CHECK(detail::distribute(table, {{0, 0}}).failure().code == errc::invalid_argument);
  CHECK(detail::distribute(detail::shard_table{}).value().empty());
}

}  // namespace distribute_test
