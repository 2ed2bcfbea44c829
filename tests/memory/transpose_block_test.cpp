// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/transpose_block.hpp>

#include "support/random_layout.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <utility>
#include <vector>

namespace transpose_block_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

/// Transposes columns x rows elements, each row of either side `gap` elements apart from the next.
template <std::size_t Size>
void check_transpose(zp::index_t rows, zp::index_t columns, zp::index_t gap) {
  constexpr auto size = static_cast<zp::index_t>(Size);
  const zp::index_t to_row = (columns + gap) * size;
  const zp::index_t from_column = (rows + gap) * size;
  random_source random(Size);
  const std::vector<std::byte> from =
      random_bytes(random, static_cast<std::size_t>(columns * from_column));
  std::vector<std::byte> expected(static_cast<std::size_t>(rows * to_row));
  std::vector<std::byte> actual(expected.size());
  for (zp::index_t i = 0; i < rows; ++i)
    for (zp::index_t j = 0; j < columns; ++j)
      std::memcpy(expected.data() + i * to_row + j * size, from.data() + j * from_column + i * size,
                  Size);
  zp::detail::transpose_matrix<Size>({actual.data(), to_row, size},
                                     {from.data(), size, from_column}, rows, columns);
  CAPTURE(Size);
  CAPTURE(rows);
  CAPTURE(columns);
  REQUIRE(actual == expected);
}

}  // namespace

TEST_CASE("transpose_matrix: every element size; none, whole and broken tiles") {
  for (const zp::index_t rows : {1, 3, 4, 64, 65, 130}) {
    for (const zp::index_t columns : {1, 5, 64, 128, 131}) {
      for (const zp::index_t gap : {0, 3}) {
        check_transpose<1>(rows, columns, gap);
        check_transpose<2>(rows, columns, gap);
        check_transpose<4>(rows, columns, gap);
        check_transpose<8>(rows, columns, gap);
        check_transpose<16>(rows, columns, gap);
      }
    }
  }
}

TEST_CASE("transpose_matrix: what goes past the caches, and several blocks of rows") {
  check_transpose<1>(1100, 1025, 0);
  check_transpose<2>(1025, 700, 1);
  check_transpose<4>(2100, 333, 5);
  check_transpose<8>(1030, 270, 0);
  check_transpose<16>(1025, 65, 2);
}

}  // namespace transpose_block_test
