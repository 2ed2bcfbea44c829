// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/distributed/save/assemble_cells.hpp>
#include <zarrpoint/distributed/shard/local_only.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/shard_values.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace assemble_cells_test {

namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

constexpr std::uint64_t seed = 17;

struct mesh {
  int tp;
  int pp;
  int size() const { return 8; }
  int dp() const { return size() / tp / pp; }
};

/// Of a tensor (8, 5, 40), cut by TP along axis 0 and by PP along axis 2, the uneven range that a
/// data parallel rank has, or the whole shard.
shard_metadata shard_on(const mesh& of, int rank, bool flat) {
  const index_t tp = rank % of.tp;
  const index_t dp = rank / of.tp % of.dp();
  const index_t pp = rank / of.tp / of.dp();
  shard_metadata out =
      from_rank_offsets(flat ? "flat" : "whole", {dtype_kind::float32, {8 / of.tp, 5, 40 / of.pp}},
                        {.offsets = {{0, tp, of.tp}, {2, pp, of.pp}}, .replica = flat ? 0 : dp})
          .value();
  if (!flat) return out;
  const index_t volume = element_count(out.local_shape).value();
  const auto cut = [&](index_t i) {
    return i == 0 || i == of.dp() ? volume * i / of.dp() : volume * i / of.dp() + 3 - i;
  };
  out.range = flat_range{cut(dp), cut(dp + 1)};
  return out;
}

state state_on(const mesh& of, int rank, bool values) {
  state::map out;
  for (const bool flat : {false, true}) {
    const shard_metadata about = shard_on(of, rank, flat);
    out.emplace(about.key, values ? with_values(about, seed) : with_room(about));
  }
  return out;
}

std::string save_on(const mesh& of, const memory_store& store, bool fully_parallel = false) {
  group_save_options how;
  how.fully_parallel = fully_parallel;
  return save_by(
      of.size(), store, [&](int rank) { return state_on(of, rank, true); }, how);
}

}  // namespace

TEST_CASE("FLT-1: flat ranges and whole shards are equal under another mesh") {
  const std::vector<std::pair<mesh, mesh>> pairs{
      {{2, 4}, {2, 4}}, {{2, 4}, {2, 2}}, {{2, 4}, {4, 2}}, {{8, 1}, {1, 2}}, {{1, 2}, {2, 2}}};
  for (const auto& [from, to] : pairs) {
    for (const bool fully_parallel : {false, true}) {
      const memory_store store;
      CHECK(save_on(from, store, fully_parallel) == "done");
      CHECK(load_by(
                to.size(), store, [&, &of = to](int rank) { return state_on(of, rank, false); },
                [](int, const group_load_report& report) {
                  return wrong_in(*report.loaded.find("flat")->if_tensor(), seed) +
                         wrong_in(*report.loaded.find("whole")->if_tensor(), seed);
                },
                {.validate = true, .read_once = fully_parallel}) == "done");
    }
  }
}

TEST_CASE("FLT-3: the metadata of what was saved flat are those of what was not") {
  for (const mesh& of : {mesh{2, 4}, {8, 1}, {1, 1}, {1, 4}}) {
    const memory_store store;
    CHECK(save_on(of, store) == "done");
    const auto all = load_tensors_metadata(store).value();
    shard_metadata flat = all.at("flat").metadata();
    CHECK_FALSE(flat.range.has_value());
    flat.key = "whole";
    CHECK(flat == all.at("whole").metadata());
    const auto values = load_plain_tensors(store).value();
    CHECK(values.at("flat").shape() == dims{8, 5, 40});
    for (const auto& [key, one] : all) {
      const sharded_tensor expected = with_values(one.metadata(), seed);
      CHECK(detail::same_bits(values.at(key).view(), expected.get<tensor>()->view()));
    }
  }
}

TEST_CASE("flat pieces of uneven shards, each of which is several cells, are joined") {
  // The shards are rows 0 to 2 and 2 to 7 of a column of 7; in pieces on three ranks.
  const auto piece = [](index_t from, index_t rows, flat_range range) {
    shard_metadata out{.key = "w",
                       .type = dtype_kind::int32,
                       .local_shape = {rows, 2},
                       .global_shape = {7, 2},
                       .global_offset = {from, 0}};
    out.range = range;
    return out;
  };
  const std::vector<std::vector<shard_metadata>> shards{{piece(2, 5, {6, 10}), piece(0, 2, {0, 1})},
                                                        {piece(2, 5, {0, 1}), piece(2, 5, {1, 1})},
                                                        {piece(0, 2, {1, 4}), piece(2, 5, {1, 6})}};
  const memory_store store;
  CHECK(save_by(3, store, [&](int rank) {
          state::list out;
          for (const auto& one : shards[static_cast<std::size_t>(rank)])
            out.emplace_back(with_values(one, seed));
          return state{{"l", std::move(out)}};
        }) == "done");
  const auto all = load_tensors_metadata(store).value();
  const auto values = load_plain_tensors(store).value();
  const sharded_tensor expected = with_values(all.at("w").metadata(), seed);
  CHECK(detail::same_bits(values.at("w").view(), expected.get<tensor>()->view()));
}

TEST_CASE("a plan that lies is an error") {
  const shard_metadata about = shard_on({8, 1}, 1, false);
  const std::vector<sharded_tensor> shards{with_values(about, seed)};
  detail::process_part part;
  part.plan.tensors.push_back({.key = "whole",
                               .type = dtype_kind::float32,
                               .grid = {{8, 5, 40}, {1, 5, 40}},
                               .first_cell = 0,
                               .cells = 1});
  part.arrays.push_back({part.plan.tensors.front(), {}, {}});
  part.puts_document.push_back(false);
  part.plan.cells.push_back({.index = 1, .writer = 1, .first_source = 0, .sources = 1});
  part.plan.sources.push_back({1, 0, {}});
  const std::vector<message> pieces(8);
  const auto said = [&] {
    const detail::cell_assembler assembler(part, shards, 1);
    const context how = with_scratch({});  // what is copied lies in its memory
    detail::cell_copies kept(how, false);
    const auto made = assembler.assemble(pieces, how, {.copies = &kept});
    return made ? std::string("done") : to_string(made.failure());
  };
  CHECK(said() == "done");
  part.plan.cells.front().index = 2;  // another process's row
  CHECK(said().starts_with("corrupt: plan: cell "));
  part.plan.cells.front().index = 1;
  part.plan.sources.front().shard = 1;
  CHECK(said() == "corrupt: plan: shard 1 of rank 1 is not here");
  part.plan.sources.front() = {0, 0, {}};
  CHECK(said() == "corrupt: rank 0 sent too little of \"whole\"");
  part.plan.cells.front().sources = 0;
  CHECK(said() == "corrupt: plan: a cell of \"whole\" has no source");
}

}  // namespace assemble_cells_test
