// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/grid/plan.hpp>

#include "../support/random_rounds.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace plan_test { namespace {

using namespace zarrpoint;

/// Every coordinate of a box of `shape`, row-major.
std::vector<dims> coordinates(const dims& shape) {
  std::vector<dims> out;
  if (box::whole(shape).empty()) return out;
  dims at(shape.rank(), 0);
  for (;;) {
    out.push_back(at);
    std::size_t d = shape.rank();
    while (d > 0 && ++at[d - 1] == shape[d - 1]) at[--d] = 0;
    if (d == 0) return out;
  }
}

std::vector<index_t> key(const dims& at) { return {at.begin(), at.end()}; }

struct naive_chunk {
  std::map<std::vector<index_t>, std::vector<index_t>>
      elements;  // in the selection -> in the inner chunk
};

/// (object, inner chunk) -> its selected elements, one by one.
auto naive(const chunk_grid& grid, const selection& part, detail::plan_scope scope) {
  std::map<std::pair<std::vector<index_t>, std::vector<index_t>>, naive_chunk> chunks;
  std::set<std::vector<index_t>> objects;
  const std::size_t rank = grid.shape.rank();
  for (const dims& at : coordinates(part.shape)) {
    dims object(rank, 0), inner(rank, 0), local(rank, 0);
    for (std::size_t d = 0; d < rank; ++d) {
      const index_t c = part.offset[d] + at[d] * part.step[d];
      object[d] = c / grid.object_shape[d];
      inner[d] = c % grid.object_shape[d] / grid.inner_shape[d];
      local[d] = c % grid.object_shape[d] % grid.inner_shape[d];
    }
    chunks[{key(object), key(inner)}].elements[key(at)] = key(local);
    objects.insert(key(object));
  }
  if (scope == detail::plan_scope::touched) return chunks;
  for (const dims& at : coordinates(grid.shape)) {
    dims object(rank, 0), inner(rank, 0);
    for (std::size_t d = 0; d < rank; ++d) {
      object[d] = at[d] / grid.object_shape[d];
      inner[d] = at[d] % grid.object_shape[d] / grid.inner_shape[d];
    }
    if (objects.count(key(object)) != 0) chunks[{key(object), key(inner)}];
  }
  return chunks;
}

void compare(const chunk_grid& grid, const selection& part, detail::plan_scope scope) {
  CAPTURE(to_string(grid.shape));
  CAPTURE(to_string(grid.object_shape));
  CAPTURE(to_string(grid.inner_shape));
  CAPTURE(to_string(part.offset));
  CAPTURE(to_string(part.shape));
  CAPTURE(to_string(part.step));
  REQUIRE(part.check(grid.shape));
  const auto expected = naive(grid, part, scope);
  const detail::box_plan plan = detail::box_plan::make(grid, part, scope).value();
  REQUIRE(plan.size() == expected.size());
  std::size_t object_first = 0;
  std::size_t object_items = 0;
  auto at =
      expected.begin();  // the map's order is the plan's: objects, then inner chunks, row-major
  for (std::size_t i = 0; i < plan.size(); ++i, ++at) {
    const detail::plan_item item = plan.at(i);
    REQUIRE(key(item.object) == at->first.first);
    REQUIRE(key(item.inner) == at->first.second);
    if (i == object_first + object_items) {
      object_first = i;
      object_items = 0;
      for (const auto& [name, chunk] : expected)
        object_items += std::size_t{name.first == at->first.first};
    }
    CHECK(item.object_first == object_first);
    CHECK(item.object_items == object_items);
    std::map<std::vector<index_t>, std::vector<index_t>> elements;
    for (const dims& k : coordinates(item.within.shape)) {
      dims from(k.rank(), 0), to(k.rank(), 0);
      for (std::size_t d = 0; d < k.rank(); ++d) {
        from[d] = item.within.offset[d] + k[d] * item.within.step[d];
        to[d] = item.at[d] + k[d];
        CHECK(item.first_element[d] ==
              item.object[d] * grid.object_shape[d] + item.inner[d] * grid.inner_shape[d]);
      }
      elements[key(to)] = key(from);
    }
    REQUIRE(elements == at->second.elements);
  }
}

TEST_CASE("a plan lists the inner chunks of a selection, object by object") {
  const chunk_grid grid{{10, 7}, {4, 4}, {2, 2}};
  CHECK(grid.objects() == dims{3, 2});
  CHECK(grid.inner_per_object() == dims{2, 2});
  const detail::box_plan plan = detail::box_plan::make(grid, box{{1, 3}, {2, 2}}).value();
  REQUIRE(plan.size() == 4);
  CHECK(plan.at(0).object == dims{0, 0});
  CHECK(plan.at(0).inner == dims{0, 1});
  CHECK(plan.at(0).within.offset == dims{1, 1});
  CHECK(plan.at(0).destination() == box{{0, 0}, {1, 1}});
  CHECK(plan.at(1).object == dims{0, 0});
  CHECK(plan.at(1).inner == dims{1, 1});
  CHECK(plan.at(2).object == dims{0, 1});
  CHECK(plan.at(3).destination() == box{{1, 1}, {1, 1}});
}

TEST_CASE("plans of rank 0 and of empty selections") {
  const chunk_grid scalar{{}, {}, {}};
  for (const auto scope : {detail::plan_scope::touched, detail::plan_scope::whole_objects}) {
    CHECK(detail::box_plan::make(scalar, box{}, scope).value().size() == 1);
    CHECK(detail::box_plan::make(scalar, box{}, scope).value().at(0).object_items == 1);
    const chunk_grid empty{{0, 5}, {1, 5}, {1, 5}};
    CHECK(detail::box_plan::make(empty, box::whole(empty.shape), scope).value().size() == 0);
    const chunk_grid some{{8, 5}, {2, 5}, {1, 5}};
    CHECK(detail::box_plan::make(some, box{{8, 0}, {0, 5}}, scope).value().size() == 0);
  }
}

TEST_CASE("plans equal a naive walk over the elements, on random grids and selections" *
          doctest::skip(zarrpoint_test::is_about_threads)) {
  std::mt19937 random(20260721);
  const auto below = [&](index_t n) {
    return static_cast<index_t>(random() % static_cast<unsigned>(n));
  };
  for (int round = 0; round < 1500; ++round) {
    chunk_grid grid;
    selection part;
    const auto rank = static_cast<std::size_t>(below(4));
    for (std::size_t d = 0; d < rank; ++d) {
      grid.shape.push_back(1 + below(12));
      grid.inner_shape.push_back(1 + below(4));
      grid.object_shape.push_back(grid.inner_shape[d] * (1 + below(3)));
      part.offset.push_back(below(grid.shape[d]));
      part.step.push_back(below(2) == 0 ? 1 : 1 + below(14));
      part.shape.push_back(
          below(12) == 0 ? 0 : 1 + below((grid.shape[d] - part.offset[d] - 1) / part.step[d] + 1));
    }
    compare(grid, part, detail::plan_scope::touched);
    compare(grid, part, detail::plan_scope::whole_objects);
  }
}

TEST_CASE("inner chunks that do not divide their object end with it") {
  std::mt19937 random(3);
  const auto below = [&](index_t n) {
    return static_cast<index_t>(random() % static_cast<unsigned>(n));
  };
  for (int round = 0; round < 500; ++round) {
    chunk_grid grid;
    box part;
    for (index_t d = 0; d < 1 + round % 3; ++d) {
      grid.shape.push_back(1 + below(12));
      grid.object_shape.push_back(1 + below(7));
      grid.inner_shape.push_back(1 + below(grid.object_shape.back()));
      part.offset.push_back(below(grid.shape.back()));
      part.shape.push_back(1 + below(grid.shape.back() - part.offset.back()));
    }
    compare(grid, part, detail::plan_scope::touched);
  }
}

TEST_CASE("a plan of 2^60 inner chunks costs nothing, one of 2^80 is refused") {
  const index_t long_axis = index_t{1} << 40;
  const chunk_grid grid{{long_axis, index_t{1} << 20}, {1024, 1024}, {1, 1}};
  const detail::box_plan plan = detail::box_plan::make(grid, box::whole(grid.shape)).value();
  CHECK(plan.size() == std::size_t{1} << 60);
  const detail::plan_item last = plan.at(plan.size() - 1);
  CHECK(last.object == dims{(index_t{1} << 30) - 1, 1023});
  CHECK(last.inner == dims{1023, 1023});
  const chunk_grid more{{long_axis, long_axis}, {1024, 1024}, {1, 1}};
  const auto refused = detail::box_plan::make(more, box::whole(more.shape));
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::out_of_range);
}

TEST_CASE("extents next to 2^63 do not overflow") {
  const index_t most = std::numeric_limits<index_t>::max();
  const chunk_grid grid{{most}, {index_t{1} << 62}, {index_t{1} << 61}};
  const detail::box_plan plan = detail::box_plan::make(grid, box::whole(grid.shape)).value();
  REQUIRE(plan.size() == 4);
  CHECK(plan.at(3).within.shape == dims{(index_t{1} << 61) - 1});
  const selection ends({0}, {2}, {most - 1});
  REQUIRE(ends.check(grid.shape));
  for (const auto scope : {detail::plan_scope::touched, detail::plan_scope::whole_objects}) {
    const detail::box_plan sparse = detail::box_plan::make(grid, ends, scope).value();
    const detail::plan_item last = sparse.at(sparse.size() - 1);
    CHECK(last.object == dims{1});
    CHECK(last.within.offset == dims{(index_t{1} << 61) - 2});
    CHECK(last.at == dims{1});
  }
}

}}  // namespace plan_test
