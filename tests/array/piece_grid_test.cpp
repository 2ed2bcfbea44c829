// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/grid/piece_grid.hpp>

#include "support/random_layout.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace piece_grid_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

std::size_t bytes_of(const box& piece, std::size_t element) {
  return byte_count(piece.shape, element).value();
}

}  // namespace

TEST_CASE("pieces hold each element of a selection once") {
  for (int seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    random_source random(static_cast<std::uint64_t>(seed));
    const dims shape = random_shape(random, 4, 14);
    selection part(box::whole(shape));
    dims unit(shape.rank(), 1);
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      unit[d] = static_cast<index_t>(1 + pick(random, 16));
      part.offset[d] = static_cast<index_t>(pick(random, 20));
      if (pick(random, 4) == 0) part.step[d] = static_cast<index_t>(1 + pick(random, 3));
    }
    const std::size_t element = 1 + pick(random, 8);
    const std::size_t limit = 1 + pick(random, 4000);
    const detail::piece_grid pieces = detail::piece_grid::make(part, unit, element, limit);
    const auto count = static_cast<std::size_t>(element_count(shape).value());
    std::vector<int> seen(count);
    const dims strides = row_major_strides(shape, 1);
    std::size_t one = element;  // the bytes of an inner chunk, of the part of it that is selected
    for (std::size_t d = 0; d < shape.rank(); ++d)
      one *= static_cast<std::size_t>(
          std::min(std::max<index_t>(unit[d] / part.step[d], 1), shape[d]));
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const box piece = pieces.at(i);
      REQUIRE(bytes_of(piece, element) <= std::max(limit, one));
      REQUIRE(bytes_of(piece, element) <= bytes_of({{}, pieces.largest()}, element));
      const selection selected = detail::part_of(part, piece);
      for (std::size_t d = 0; d < shape.rank(); ++d) {
        REQUIRE(piece.shape[d] > 0);
        CHECK(selected.offset[d] == part.offset[d] + piece.offset[d] * part.step[d]);
        // Whole inner chunks: a piece begins at the selection's edge or at one of theirs.
        if (part.step[d] == 1 && piece.offset[d] != 0) CHECK(selected.offset[d] % unit[d] == 0);
      }
      for_each_coordinate(piece.shape, [&](const dims& at) {
        index_t index = 0;
        for (std::size_t d = 0; d < shape.rank(); ++d)
          index += (piece.offset[d] + at[d]) * strides[d];
        ++seen[static_cast<std::size_t>(index)];
      });
    }
    CHECK(std::count(seen.begin(), seen.end(), 1) == static_cast<std::ptrdiff_t>(count));
  }
}

TEST_CASE("as many inner chunks as fit, the last axis first") {
  const detail::piece_grid rows =
      detail::piece_grid::make(box::whole({100, 64}), {10, 16}, 4, 12 * 1024);
  CHECK(rows.size() == 3);  // of 40 rows, since 10 take 2560 bytes
  CHECK(rows.at(1) == box{{40, 0}, {40, 64}});
  CHECK(rows.at(2) == box{{80, 0}, {20, 64}});
  const detail::piece_grid columns =
      detail::piece_grid::make(box::whole({100, 64}), {10, 16}, 4, 1300);
  CHECK(columns.at(0) == box{{0, 0}, {10, 32}});
  const detail::piece_grid single = detail::piece_grid::make(box::whole({100, 64}), {10, 16}, 4, 1);
  CHECK(single.at(0) == box{{0, 0}, {10, 16}});
  CHECK(detail::piece_grid::make(box::whole({}), {}, 4, 1).size() == 1);
  CHECK(detail::piece_grid::make(box::whole({3, 0}), {1, 1}, 4, 1).size() == 0);
}

TEST_CASE("extents of any size make no list and no overflow") {
  constexpr index_t most = INT64_MAX;
  const selection far({most - 8}, {8}, {1});
  const detail::piece_grid pieces = detail::piece_grid::make(far, {most - 1}, 1, 4);
  REQUIRE(pieces.size() >= 1);
  index_t sum = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) sum += pieces.at(i).shape[0];
  CHECK(sum == 8);
  const detail::piece_grid many = detail::piece_grid::make(box::whole({most}), {1}, 1, 1);
  CHECK(many.size() == static_cast<std::size_t>(most));
  CHECK(many.at(static_cast<std::size_t>(most) - 1) == box{{most - 1}, {1}});
}

}  // namespace piece_grid_test
