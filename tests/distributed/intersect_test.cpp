// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/plan/intersect.hpp>

#include "support/random_rounds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace intersect_test {

namespace {

using namespace zarrpoint;

/// A stored box and a wanted one that have elements in common.
struct overlap {
  std::uint32_t stored = 0;
  std::uint32_t wanted = 0;
  box part;

  friend bool operator==(const overlap&, const overlap&) = default;
};

box common_part(const box& a, const box& b) {
  box out;
  for (std::size_t axis = 0; axis < a.rank(); ++axis) {
    const index_t from = std::max(a.offset[axis], b.offset[axis]);
    const index_t to = std::min(a.offset[axis] + a.shape[axis], b.offset[axis] + b.shape[axis]);
    out.offset.push_back(from);
    out.shape.push_back(to - from);
  }
  return out;
}

/// What stored and wanted boxes have in common, by the wanted ones and then the stored.
std::vector<overlap> intersect(const detail::box_list& stored, const detail::box_list& wanted) {
  std::vector<overlap> out;
  detail::for_each_overlap(stored, wanted, [&](std::uint32_t s, std::uint32_t w) {
    out.push_back({s, w, common_part(stored.at(s), wanted.at(w))});
    return true;
  });
  std::sort(out.begin(), out.end(), [](const overlap& a, const overlap& b) {
    return std::pair(a.wanted, a.stored) < std::pair(b.wanted, b.stored);
  });
  return out;
}

std::vector<overlap> intersect(const std::vector<box>& stored, const std::vector<box>& wanted) {
  if (stored.empty() || wanted.empty()) return {};
  const std::size_t rank = stored.front().rank();
  return intersect(detail::box_list(rank, stored), detail::box_list(rank, wanted));
}

/// All with all.
std::vector<overlap> naive(const std::vector<box>& stored, const std::vector<box>& wanted) {
  std::vector<overlap> out;
  for (std::uint32_t w = 0; w < wanted.size(); ++w) {
    for (std::uint32_t s = 0; s < stored.size(); ++s) {
      const overlap one{s, w, common_part(stored[s], wanted[w])};
      if (!one.part.empty()) out.push_back(one);
    }
  }
  return out;
}

std::vector<box> grid(const dims& shape, const dims& cell) {
  std::vector<box> out;
  dims at(shape.rank(), 0);
  while (true) {
    box one{at, cell};
    for (std::size_t i = 0; i < shape.rank(); ++i)
      one.shape[i] = std::min(cell[i], shape[i] - at[i]);
    out.push_back(one);
    std::size_t axis = shape.rank();
    while (axis-- > 0) {
      if ((at[axis] += cell[axis]) < shape[axis]) break;
      at[axis] = 0;
    }
    if (axis == SIZE_MAX) return out;
  }
}

}  // namespace

TEST_CASE("boxes of all kinds meet as comparing all with all says" *
          doctest::skip(zarrpoint_test::is_about_threads)) {
  std::mt19937_64 random(1);
  const auto pick = [&](index_t least, index_t most) {
    return std::uniform_int_distribution<index_t>(least, most)(random);
  };
  for (int round = 0; round < zarrpoint_test::random_rounds(1200); ++round) {
    const auto rank = static_cast<std::size_t>(pick(0, 4));
    const index_t extent = pick(1, 3) == 1 ? 4 : pick(5, 200);  // few places: many ties
    const index_t longest = pick(0, 2) == 0 ? extent : 6;
    const auto boxes = [&](index_t most) {
      std::vector<box> out(static_cast<std::size_t>(pick(0, most)));
      for (box& one : out) {
        for (std::size_t axis = 0; axis < rank; ++axis) {
          one.offset.push_back(pick(0, extent));
          one.shape.push_back(pick(0, longest));
        }
      }
      return out;
    };
    const std::vector<box> stored = boxes(round % 40 == 0 ? 400 : 60);
    const std::vector<box> wanted = boxes(round % 40 == 0 ? 400 : 60);
    REQUIRE(intersect(stored, wanted) == naive(stored, wanted));
    REQUIRE(intersect(stored, stored) == naive(stored, stored));
  }
}

TEST_CASE("grids of other cells, prepended axes and far corners") {
  const std::vector<box> quarters = grid({8, 40, 40}, {1, 10, 40});
  const std::vector<box> others = grid({8, 40, 40}, {3, 7, 11});
  CHECK(intersect(quarters, others) == naive(quarters, others));
  CHECK(intersect(others, quarters) == naive(others, quarters));
  const std::vector<box> far{{{INT64_MAX - 3}, {3}}, {{0}, {INT64_MAX}}};
  CHECK(intersect(far, far) == naive(far, far));
  CHECK(intersect(std::vector<box>{}, far).empty());
  const std::vector<box> scalars(3);
  CHECK(intersect(scalars, scalars).size() == 9);
}

TEST_CASE("FLT-2: the stored cells that each process of another mesh needs; golden row 34") {
  // Global (8, 5, 40): the first axis over TP, the third over PP, ranks in the order tp + TP * pp.
  const auto cells_of = [](index_t tp, index_t pp) {
    std::vector<box> out;
    for (index_t p = 0; p < pp; ++p)
      for (index_t t = 0; t < tp; ++t)
        out.push_back({{t * (8 / tp), 0, p * (40 / pp)}, {8 / tp, 5, 40 / pp}});
    return out;
  };
  const auto needed = [&](const std::vector<box>& stored, const box& wanted) {
    std::set<std::vector<index_t>> out;
    for (const overlap& one : intersect(stored, std::vector<box>{wanted})) {
      const dims& at = stored[one.stored].offset;
      out.insert(std::vector<index_t>(at.begin(), at.end()));
    }
    return out;
  };
  using offsets = std::set<std::vector<index_t>>;
  const std::vector<box> stored = cells_of(2, 4);
  const std::vector<box> halves = cells_of(2, 2);
  CHECK(needed(stored, halves[0]) == offsets{{0, 0, 0}, {0, 0, 10}});
  CHECK(needed(stored, halves[1]) == offsets{{4, 0, 0}, {4, 0, 10}});
  CHECK(needed(stored, halves[2]) == offsets{{0, 0, 20}, {0, 0, 30}});
  CHECK(needed(stored, halves[3]) == offsets{{4, 0, 20}, {4, 0, 30}});
  // (2, 4) -> (4, 2): quarters of the first axis share the stored halves.
  const std::vector<box> quarters = cells_of(4, 2);
  CHECK(needed(stored, quarters[0]) == offsets{{0, 0, 0}, {0, 0, 10}});
  CHECK(needed(stored, quarters[1]) == offsets{{0, 0, 0}, {0, 0, 10}});
  CHECK(needed(stored, quarters[2]) == offsets{{4, 0, 0}, {4, 0, 10}});
  CHECK(needed(stored, quarters[4]) == offsets{{0, 0, 20}, {0, 0, 30}});
  CHECK(needed(stored, quarters[6]) == offsets{{4, 0, 20}, {4, 0, 30}});
  // (8, 1) -> (1, 2): all eight.
  CHECK(needed(cells_of(8, 1), cells_of(1, 2)[1]).size() == 8);
}

TEST_CASE("few comparisons: boxes that cross each other nowhere, or everywhere but in one axis" *
          doctest::skip(zarrpoint_test::is_about_threads)) {
  // 20,000 columns and 20,000 rows of which none meets another: all with all would be 4e8 pairs,
  // and each axis alone says that all of them meet.
  constexpr index_t n = 20000;
  detail::box_list rows(3);
  detail::box_list columns(3);
  for (index_t i = 0; i < n; ++i) {
    rows.add({{2 * i, 0, 0}, {1, n, n}});
    columns.add({{2 * i + 1, 0, 0}, {1, n, n}});
  }
  CHECK(intersect(rows, columns).empty());
  CHECK(intersect(rows, rows).size() == n);
  // One pair is enough for a caller that asks for one.
  detail::box_list same(2);
  for (index_t i = 0; i < n; ++i) same.add({{0, 0}, {5, 5}});
  std::size_t found = 0;
  detail::for_each_overlap(same, same, [&](std::uint32_t, std::uint32_t) { return ++found < 10; });
  CHECK(found == 10);
}

}  // namespace intersect_test
