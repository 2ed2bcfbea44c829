// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/plan/save_plan.hpp>

#include "support/random_rounds.hpp"
#include "support/random_sharding.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

namespace plan_save_test {

namespace {

using namespace zarrpoint;
using namespace test_support;

detail::save_plan plan_of(const std::vector<test_support::gathered_shard>& shards) {
  const detail::shard_table table = test_support::make_shard_table(shards).value();
  return detail::plan_save(table, detail::main_shards(table)).value();
}

bool within(const box& inner, const box& outer) {
  for (std::size_t axis = 0; axis < inner.rank(); ++axis) {
    if (inner.offset[axis] < outer.offset[axis] ||
        inner.offset[axis] + inner.shape[axis] > outer.offset[axis] + outer.shape[axis])
      return false;
  }
  return true;
}

void check_cell(const detail::shard_table& table, const planned_tensor& tensor,
                const planned_cell& cell, std::span<const detail::cell_source> sources) {
  std::map<std::pair<int, std::uint32_t>, std::size_t> held;
  for (std::size_t i = 0; i < table.size(); ++i) held[{table.rank(i), table.position(i)}] = i;
  REQUIRE(!sources.empty());
  REQUIRE(cell.writer == sources.front().rank);
  index_t covered = 0;
  for (const detail::cell_source& one : sources) {
    REQUIRE(held.contains({one.rank, one.shard}));
    const shard_metadata shard = table.metadata(held[{one.rank, one.shard}]);
    REQUIRE(shard.key == tensor.key);
    REQUIRE(shard.replica.is_main());
    REQUIRE(within(tensor.grid.cell(cell.index), shard.global_box()));
    if (!tensor.is_flat) continue;
    REQUIRE(one.range == *shard.range);
    REQUIRE(one.range.start == covered);
    covered = one.range.stop;
    if (&one == &sources.back()) REQUIRE(covered == element_count(shard.local_shape).value());
  }
  if (!tensor.is_flat) REQUIRE(sources.size() == 1);
}

}  // namespace

TEST_CASE("the cells of a regular grid are its shards, no matter which process holds them") {
  // 48 layers, 128 experts, two halves: golden row 3.
  std::vector<test_support::gathered_shard> shards;
  for (index_t layer = 0; layer < 48; ++layer) {
    for (index_t expert = 0; expert < 128; ++expert) {
      for (index_t half = 0; half < 2; ++half)
        shards.push_back({static_cast<int>(expert % 8),
                          {.key = "experts",
                           .type = dtype_kind::bfloat16,
                           .local_shape = {4, 5},
                           .global_shape = {48, 128, 4, 10},
                           .global_offset = {layer, expert, 0, 5 * half},
                           .fragmentation = dims{48, 128, 1, 2},
                           .prepended_axes = 2}});
    }
  }
  const detail::save_plan plan = plan_of(shards);
  REQUIRE(plan.tensors.size() == 1);
  CHECK(plan.tensors[0].grid == write_grid{{48, 128, 4, 10}, {1, 1, 4, 5}});
  REQUIRE(plan.cells.size() == 48 * 128 * 2);
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    REQUIRE(plan.cells[i].index == static_cast<index_t>(i));
    REQUIRE(plan.cells[i].writer == static_cast<int>(i / 2 % 128 % 8));
  }
}

TEST_CASE("uneven shards are cut evenly while that is cheap, else where they end") {
  const auto row = [](const std::vector<index_t>& extents) {
    std::vector<test_support::gathered_shard> out;
    index_t end = 0;
    for (const index_t n : extents) end += n;
    index_t at = 0;
    for (const index_t n : extents) {
      out.push_back({static_cast<int>(out.size()), irregular("w", {end}, {{at}, {n}})});
      at += n;
    }
    return out;
  };
  const detail::save_plan even = plan_of(row({4, 8, 0, 12}));
  CHECK(even.tensors[0].grid == write_grid{{24}, {4}});
  CHECK(even.cells.size() == 6);
  CHECK(even.cells[5].writer == 3);
  CHECK(even.cells[1].writer == 1);
  const detail::save_plan uneven = plan_of(row({101, 57, 0, 57, 1}));
  CHECK(uneven.tensors[0].grid ==
        write_grid{{216}, {101}, {axis_edges({{101, 1}, {57, 2}, {1, 1}})}});
  CHECK(uneven.cells.size() == 4);
  CHECK(uneven.cells[3].writer == 4);
  CHECK(plan_of(row({7, 1})).tensors[0].grid == write_grid{{8}, {1}});
  CHECK(plan_of(row({8, 1})).cells.size() == 2);
  // Nobody has any of it: the array is there all the same.
  const detail::save_plan nothing = plan_of(row({0, 0}));
  REQUIRE(nothing.tensors.size() == 1);
  CHECK(nothing.tensors[0].grid == write_grid{{0}, {1}});
  CHECK(nothing.cells.empty());
}

TEST_CASE("a cell in flat pieces is written by the process of the first that has elements") {
  std::vector<test_support::gathered_shard> shards;
  const auto piece = [&](int rank, flat_range range) {
    shards.push_back({rank,
                      {.key = "m",
                       .type = dtype_kind::float32,
                       .local_shape = {2, 3},
                       .global_shape = {2, 3},
                       .global_offset = {0, 0},
                       .fragmentation = dims{1, 1},
                       .range = range}});
  };
  piece(0, {0, 0});
  piece(1, {4, 6});
  piece(2, {0, 1});
  piece(3, {1, 4});
  const detail::save_plan plan = plan_of(shards);
  REQUIRE(plan.cells.size() == 1);
  CHECK(plan.cells[0].writer == 2);
  CHECK(plan.sources ==
        std::vector<detail::cell_source>{{2, 0, {0, 1}}, {3, 0, {1, 4}}, {1, 0, {4, 6}}});
}

TEST_CASE("no two processes write one object, and every element is in one: random layouts") {
  random_source random(34);
  for (int round = 0; round < zarrpoint_test::random_rounds(1500); ++round) {
    const int ranks = static_cast<int>(pick(random, 1, 9));
    std::vector<shard_metadata> shards;
    const std::string keys[] = {"a", "b/c", "zz"};
    for (const std::string& key : keys) {
      const std::vector<shard_metadata> some = random_tensor(random, key);
      shards.insert(shards.end(), some.begin(), some.end());
    }
    const detail::shard_table table =
        test_support::make_shard_table(spread(random, shards, ranks)).value();
    const detail::save_plan plan = detail::plan_save(table, detail::main_shards(table)).value();
    REQUIRE(plan.tensors.size() == 3);
    for (const planned_tensor& tensor : plan.tensors) {
      REQUIRE(tensor.grid.check());
      index_t elements = 0;
      index_t last = -1;
      for (const planned_cell& cell : plan.cells_of(tensor)) {
        REQUIRE(cell.index > last);  // so no cell is there twice
        last = cell.index;
        check_cell(table, tensor, cell, plan.sources_of(cell));
        elements += element_count(tensor.grid.cell(cell.index).shape).value();
      }
      REQUIRE(elements == element_count(tensor.grid.shape).value());
    }
    // The parts of the processes: each cell once with its writer, each piece once with its owner.
    std::map<std::pair<std::string, index_t>, int> writers;
    std::size_t sent = 0;
    const std::vector<detail::save_plan> parts = detail::split_plan(plan, ranks).value();
    for (int rank = 0; rank < ranks; ++rank) {
      const detail::save_plan& part = parts[static_cast<std::size_t>(rank)];
      REQUIRE(detail::decode_plan(detail::encode_plan(part)).value() == part);
      for (const planned_tensor& tensor : part.tensors) {
        for (const planned_cell& cell : part.cells_of(tensor)) {
          if (cell.writer == rank)
            REQUIRE(writers.emplace(std::pair(tensor.key, cell.index), rank).second);
          for (const detail::cell_source& one : part.sources_of(cell)) {
            if (one.rank == rank) ++sent;
            if (cell.writer != rank) REQUIRE(one.rank == rank);
          }
        }
      }
    }
    std::size_t wanted = 0;
    for (const planned_cell& cell : plan.cells) wanted += cell.sources;
    REQUIRE(writers.size() == plan.cells.size());
    REQUIRE(sent == wanted);
  }
}

TEST_CASE("no two processes write one object, however wrong the shards are") {
  random_source random(35);
  std::size_t refused = 0;
  for (int round = 0; round < zarrpoint_test::random_rounds(4000); ++round) {
    std::vector<shard_metadata> shards = random_tensor(random, "w");
    shard_metadata& victim =
        shards[static_cast<std::size_t>(pick(random, 0, static_cast<index_t>(shards.size()) - 1))];
    for (dims* const one : {&victim.global_offset, &victim.local_shape, &victim.global_shape}) {
      if (one->empty() || pick(random, 0, 1) == 0) continue;
      index_t& n =
          (*one)[static_cast<std::size_t>(pick(random, 0, static_cast<index_t>(one->size()) - 1))];
      n += pick(random, 0, 20) == 0 ? (pick(random, 0, 1) == 0 ? INT64_MAX / 2 : -INT64_MAX / 2)
                                    : pick(random, -4, 4);
    }
    const detail::shard_table table =
        test_support::make_shard_table(spread(random, shards, 5)).value();
    const auto plan = detail::plan_save(table, detail::main_shards(table), {.max_cells = 10000});
    if (!plan) {
      ++refused;
      CHECK(!plan.failure().message.empty());
      continue;
    }
    for (const planned_tensor& tensor : plan->tensors) {
      index_t last = -1;
      for (const planned_cell& cell : plan->cells_of(tensor)) {
        REQUIRE(cell.index > last);
        last = cell.index;
      }
    }
  }
  CHECK(refused > zarrpoint_test::random_rounds(500U));
}

TEST_CASE("flat pieces that leave a hole, overlap or leave the shard are not assembled") {
  for (const std::vector<flat_range>& ranges : {std::vector<flat_range>{{0, 2}, {3, 6}},
                                                {{0, 4}, {2, 6}},
                                                {{0, 5}},
                                                {{1, 6}},
                                                {{0, 7}},
                                                {{-1, 6}},
                                                {{INT64_MIN, INT64_MAX}}}) {
    std::vector<test_support::gathered_shard> shards;
    for (const flat_range& range : ranges) {
      shards.push_back({static_cast<int>(shards.size()), irregular("m", {6}, {{0}, {6}})});
      shards.back().shard.range = range;
    }
    const detail::shard_table table = test_support::make_shard_table(shards).value();
    const auto plan = detail::plan_save(table, detail::main_shards(table));
    REQUIRE_FALSE(plan);
    CHECK(plan.failure().message.find("shard [0:6]") != std::string::npos);
  }
}

TEST_CASE("uneven shards that make too many cells are refused before any is made") {
  std::vector<test_support::gathered_shard> shards;
  for (index_t i = 0; i < 2000; ++i)  // a diagonal: boundaries cross in 2000 x 2000 places
    shards.push_back(
        {0, irregular("w", {4000003, 4000003}, {{i * 2000 + i % 3, i * 1999}, {1, 1}})});
  const detail::shard_table table = test_support::make_shard_table(shards).value();
  const auto plan = detail::plan_save(table, detail::main_shards(table), {.max_cells = 1000000});
  REQUIRE_FALSE(plan);
  CHECK(plan.failure().code == errc::resource_limit);
  CHECK(plan.failure().message.find("\"w\"") != std::string::npos);
  CHECK(detail::plan_save(table, std::vector<std::uint32_t>{2000}).failure().code ==
        errc::invalid_argument);
}

}  // namespace plan_save_test
