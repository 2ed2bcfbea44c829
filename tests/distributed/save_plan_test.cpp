// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/plan/save_plan.hpp>

#include "support/random_rounds.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

namespace save_plan_test {

namespace {

using namespace zarrpoint;

axis_edges edges(std::vector<chunk_run> runs) { return axis_edges(std::move(runs)); }

/// Two tensors: one regular, of four processes; one uneven and in flat pieces.
detail::save_plan example() {
  detail::save_plan out;
  out.tensors = {{.key = "a",
                  .type = dtype_kind::float32,
                  .grid = {{4, 6}, {2, 3}},
                  .first_cell = 0,
                  .cells = 4},
                 {.key = "b",
                  .type = dtype::raw_bytes(3),
                  .grid = {{2, 10}, {1, 4}, {edges({{1, 2}}), edges({{4, 1}, {3, 2}})}},
                  .prepended_axes = 1,
                  .is_flat = true,
                  .first_cell = 4,
                  .cells = 2}};
  out.cells = {{0, 3, 0, 1}, {1, 2, 1, 1}, {2, 1, 2, 1}, {3, 0, 3, 1}, {1, 0, 4, 3}, {5, 2, 7, 1}};
  out.sources = {{3, 0},         {2, 0},         {1, 0},         {0, 0},
                 {0, 1, {0, 1}}, {1, 7, {1, 2}}, {3, 1, {2, 3}}, {2, 300, {0, 3}}};
  return out;
}

}  // namespace

TEST_CASE("cells of regular and rectilinear grids lie side by side and end with the tensor") {
  const write_grid regular{{5, 6}, {2, 3}};
  REQUIRE(regular.check());
  CHECK(regular.cells().value() == 6);
  CHECK(regular.cell(0) == box{{0, 0}, {2, 3}});
  CHECK(regular.cell(5) == box{{4, 3}, {1, 3}});
  const write_grid uneven = example().tensors[1].grid;
  REQUIRE(uneven.check());
  CHECK(uneven.cells().value() == 6);
  CHECK(uneven.cell(0) == box{{0, 0}, {1, 4}});
  CHECK(uneven.cell(4) == box{{1, 4}, {1, 3}});
  const write_grid scalar{{}, {}};
  REQUIRE(scalar.check());
  CHECK(scalar.cells().value() == 1);
  CHECK(scalar.cell(0) == box{});
  CHECK(write_grid{{3, 0}, {1, 1}}.cells().value() == 0);
}

TEST_CASE("grids that are none are refused") {
  for (const write_grid& bad :
       {write_grid{{4}, {2, 2}}, write_grid{{4}, {0}}, write_grid{{-4}, {2}},
        write_grid{{INT64_MAX, 4}, {1, 1}}, write_grid{{4}, {2}, {edges({{2, 2}}), edges({})}},
        write_grid{{4}, {2}, {edges({{2, 1}})}}, write_grid{{4}, {2}, {edges({{2, 3}})}},
        write_grid{{4}, {2}, {axis_edges({{2, 1}}, true)}},
        write_grid{{4}, {2}, {edges({{INT64_MAX, INT64_MAX}})}}})
    CHECK_FALSE(bad.check());
}

TEST_CASE("each process gets the cells that it writes and those it sends pieces for") {
  const detail::save_plan plan = example();
  const std::vector<detail::save_plan> parts = detail::split_plan(plan, 5).value();
  REQUIRE(parts.size() == 5);
  CHECK(parts[4] == detail::save_plan{});
  CHECK(parts[0].tensors.size() == 2);
  CHECK(parts[0].cells == std::vector<planned_cell>{{3, 0, 0, 1}, {1, 0, 1, 3}});
  CHECK(parts[0].sources ==
        std::vector<detail::cell_source>{{0, 0}, {0, 1, {0, 1}}, {1, 7, {1, 2}}, {3, 1, {2, 3}}});
  CHECK(parts[1].cells == std::vector<planned_cell>{{2, 1, 0, 1}, {1, 0, 1, 1}});
  CHECK(parts[1].sources == std::vector<detail::cell_source>{{1, 0}, {1, 7, {1, 2}}});
  CHECK(parts[1].tensors[1].first_cell == 1);
  CHECK(parts[1].tensors[1].cells == 1);
  CHECK(parts[2].cells_of(parts[2].tensors[1])[0].index == 5);
  const error few = detail::split_plan(plan, 3).failure();
  CHECK(few.code == errc::invalid_argument);
  CHECK(few.message == "the plan names process 3; there are 3 processes");
  CHECK(detail::split_plan(detail::save_plan{}, 0).value().empty());
}

TEST_CASE("flat pieces of a shard that is a cell become cells of their own") {
  detail::save_plan plan = example();
  // Cells 1 and 5 of "b" have three elements each.
  detail::split_pieces(plan);
  CHECK(plan.cells == std::vector<planned_cell>{{0, 3, 0, 1},
                                                {1, 2, 1, 1},
                                                {2, 1, 2, 1},
                                                {3, 0, 3, 1},
                                                {1, 0, 4, 1},
                                                {1, 1, 5, 1},
                                                {1, 3, 6, 1},
                                                {5, 2, 7, 1}});
  CHECK(plan.tensors[0].cells == 4);
  CHECK(plan.tensors[1].first_cell == 4);
  CHECK(plan.tensors[1].cells == 4);
  plan.sources[6].rank = plan.cells[6].writer = 0;  // one process may have two pieces of a cell
  const std::vector<detail::save_plan> parts = detail::split_plan(plan, 4).value();
  CHECK(parts[0].cells == std::vector<planned_cell>{{3, 0, 0, 1}, {1, 0, 1, 1}, {1, 0, 2, 1}});
  CHECK(parts[3].tensors.size() == 1);
  for (const detail::save_plan& part : parts)
    CHECK(detail::decode_plan(detail::encode_plan(part)).value() == part);
  // Of a shard that is several cells no piece is one of a cell.
  detail::save_plan whole = example();
  whole.sources[6].range = {2, 8};
  whole.sources[7].range = {0, 6};
  const std::vector<planned_cell> before = whole.cells;
  detail::split_pieces(whole);
  CHECK(whole.cells == before);
  // A cell that is not in pieces is there once.
  detail::save_plan twice = example();
  twice.cells[1].index = 0;
  CHECK(detail::decode_plan(detail::encode_plan(twice)).failure().message ==
        "plan of \"a\": it names a cell twice");
  // In pieces it is there once for each, and no element twice.
  detail::save_plan shared = example();
  shared.tensors = {shared.tensors[1]};
  shared.tensors[0].first_cell = 0;
  shared.cells = {{5, 0, 0, 1}, {5, 1, 1, 1}};
  shared.sources = {{0, 0, {0, 1}}, {1, 0, {1, 3}}};
  CHECK(detail::decode_plan(detail::encode_plan(shared)).value() == shared);
  const std::string again = "plan of \"b\": it names a cell twice";
  for (const flat_range range : {flat_range{0, 3}, flat_range{0, 1}}) {
    detail::save_plan bad = shared;
    bad.sources[1].range = range;
    CHECK(detail::decode_plan(detail::encode_plan(bad)).failure().message == again);
  }
  shared.sources.push_back({1, 1, {1, 3}});
  shared.cells[1].sources = 2;
  CHECK(detail::decode_plan(detail::encode_plan(shared)).failure().message == again);
}

TEST_CASE("a plan comes back from its message; a damaged one does no harm") {
  const detail::save_plan plan = example();
  const std::vector<std::byte> message = detail::encode_plan(plan);
  CHECK(message.size() < 110);
  CHECK(detail::decode_plan(message).value() == plan);
  CHECK(detail::decode_plan(detail::encode_plan({})).value() == detail::save_plan{});
  for (const detail::save_plan& part : detail::split_plan(plan, 4).value())
    CHECK(detail::decode_plan(detail::encode_plan(part)).value() == part);
  for (std::size_t size = 0; size < message.size(); ++size)
    REQUIRE_FALSE(detail::decode_plan(bytes_view(message).first(size)));
  std::vector<std::byte> bad = message;
  bad[0] = std::byte{7};
  CHECK(detail::decode_plan(bad).failure().code == errc::unsupported);

  std::mt19937_64 random(8);
  std::size_t refused = 0;
  for (int round = 0; round < zarrpoint_test::random_rounds(20000); ++round) {
    bad = message;
    for (std::size_t flips = 1 + random() % 3; flips > 0; --flips)
      bad[random() % bad.size()] ^= static_cast<std::byte>(1U << (random() % 8));
    const auto read = detail::decode_plan(bad);
    if (!read) {
      ++refused;
      continue;
    }
    for (const planned_tensor& tensor : read->tensors) {
      const index_t cells = tensor.grid.cells().value();
      index_t last = -1;
      index_t end = 0;  // of the piece before
      for (const planned_cell& cell : read->cells_of(tensor)) {
        const auto sources = read->sources_of(cell);
        if (cell.index <= last) {
          REQUIRE((tensor.is_flat && cell.index == last && sources.size() == 1));
          REQUIRE(sources[0].range.start >= end);
        }
        end = sources.empty() ? 0 : sources[0].range.stop;
        REQUIRE(cell.index < cells);
        REQUIRE(tensor.grid.cell(cell.index).rank() == tensor.grid.shape.rank());
        REQUIRE(read->sources_of(cell).size() == cell.sources);
        last = cell.index;
      }
    }
  }
  CHECK(refused > zarrpoint_test::random_rounds(1000U));
}

}  // namespace save_plan_test
