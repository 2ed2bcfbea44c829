// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/sort.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sort_numbers_test { namespace {

using namespace zarrpoint::detail;

std::vector<std::pair<std::uint64_t, std::size_t>> sorted(std::vector<numbered_place> list) {
  sort_numbers(list);
  std::vector<std::pair<std::uint64_t, std::size_t>> out;
  for (const numbered_place& one : list) out.emplace_back(one.number, one.place);
  return out;
}

TEST_CASE("sort_numbers: over the whole of uint64, equal numbers by their places") {
  CHECK(sorted({}).empty());
  using list = std::vector<std::pair<std::uint64_t, std::size_t>>;
  CHECK(sorted({{UINT64_MAX, 0}, {5, 3}, {0, 1}, {5, 2}}) ==
        list{{0, 1}, {5, 2}, {5, 3}, {UINT64_MAX, 0}});
}

TEST_CASE("sort_numbers: many") {
  std::vector<numbered_place> list;
  for (std::size_t i = 0; i < 1000; ++i) list.push_back({i * 7919 % 1000, i});
  const auto out = sorted(std::move(list));
  for (std::size_t i = 0; i < 1000; ++i) {
    REQUIRE(out[i].first == i);
    REQUIRE(out[i].second * 7919 % 1000 == i);
  }
}

}}  // namespace sort_numbers_test
