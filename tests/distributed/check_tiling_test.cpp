// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/plan/validate_sharding.hpp>

#include "support/random_rounds.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace check_tiling_test {

namespace {

using namespace zarrpoint;

std::string judge(const dims& global, const std::vector<box>& boxes) {
  detail::shard_table table;
  for (const box& one : boxes)
    REQUIRE(table.add(static_cast<int>(table.size()), {.key = "w",
                                                       .type = dtype_kind::int8,
                                                       .local_shape = one.shape,
                                                       .global_shape = global,
                                                       .global_offset = one.offset}));
  detail::sharding_problems problems;
  const detail::key_order keys(table.forms());
  const auto sorted = detail::sort_shards(table, keys, detail::main_shards(table));
  detail::tiling_checker checker(table, problems);
  checker.check_irregular(table.forms()[0], checker.join_ranges(table.forms()[0], sorted));
  const auto status = std::move(problems).finish();
  return status ? "" : status.failure().message;
}

}  // namespace

TEST_CASE("a pinwheel tiles a square, which no two cuts through all of it would") {
  std::vector<box> wheel{{{0, 0}, {2, 3}}, {{0, 3}, {3, 2}}, {{3, 2}, {2, 3}}, {{2, 0}, {3, 2}}};
  CHECK(judge({5, 5}, wheel) ==
        "the sharding has 1 problem:\n  \"w\": 1 of 9 parts between the boundaries of shards have "
        "no main replica: [2:3, 2:3]");
  wheel.push_back({{2, 2}, {1, 1}});
  CHECK(judge({5, 5}, wheel).empty());
  wheel.push_back({{2, 2}, {1, 1}});
  CHECK(judge({5, 5}, wheel)
            .find("shards overlap: [2:3, 2:3] on process 4 and [2:3, 2:3] on "
                  "process 5") != std::string::npos);
}

TEST_CASE("staircases, whose boundaries cross in more places than can be counted" *
          doctest::skip(zarrpoint_test::is_about_threads)) {
  constexpr index_t n = 3000;
  std::vector<box> steps;  // a column above the diagonal and a row's end below, n times
  for (index_t i = 0; i < n; ++i) {
    steps.push_back({{i, i}, {1, n - i}});
    if (i + 1 < n) steps.push_back({{i + 1, i}, {n - i - 1, 1}});
  }
  CHECK(judge({n, n}, steps).empty());
  std::vector<box> hole = steps;
  hole.erase(hole.begin() + 2);
  CHECK(judge({n, n}, hole).find("2999 of 9000000 elements are in no shard") != std::string::npos);
  std::vector<box> twice = steps;
  twice[2].offset[1] -= 1;
  CHECK(judge({n, n}, twice).find("shards overlap") != std::string::npos);
}

}  // namespace check_tiling_test
