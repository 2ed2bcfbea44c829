// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/grid/raw_rows.hpp>

#include "support/random_layout.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace raw_rows_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

mutable_host_view bytes_at(std::vector<std::byte>& memory, const dims& shape, const dims& strides) {
  return {memory.data(), dtype_kind::uint8, shape, strides, {}, {}};
}

TEST_CASE("a slab of rows is one run") {
  std::vector<std::byte> memory(12);
  const auto rows =
      detail::raw_rows::of(box{{2, 0}, {3, 4}}, {10, 4}, bytes_at(memory, {3, 4}, {4, 1}));
  REQUIRE(rows);
  CHECK(rows->count() == 1);
  CHECK(rows->run_bytes == 12);
  CHECK(rows->first == 8);
}

TEST_CASE("columns are a run per row; elements apart are none") {
  std::vector<std::byte> memory(12);
  const auto rows =
      detail::raw_rows::of(box{{2, 1}, {3, 2}}, {10, 4}, bytes_at(memory, {3, 2}, {2, 1}));
  REQUIRE(rows);
  CHECK(rows->count() == 3);
  CHECK(rows->run_bytes == 2);
  CHECK_FALSE(detail::raw_rows::of(selection({0, 0}, {3, 2}, {1, 2}), {10, 4},
                                   bytes_at(memory, {3, 2}, {2, 1})));
  CHECK_FALSE(detail::raw_rows::of(box{{2, 1}, {3, 2}}, {10, 4}, bytes_at(memory, {3, 2}, {4, 2})));
}

TEST_CASE("runs bring every element to its place, as a walk over the elements does") {
  random_source random(3);
  int used = 0;
  for (int round = 0; round < 3000; ++round) {
    dims chunk, count, first, step;
    const std::size_t rank = pick(random, 4);
    for (std::size_t d = 0; d < rank; ++d) {
      chunk.push_back(1 + static_cast<index_t>(pick(random, 5)));
      const auto extent = static_cast<std::size_t>(chunk[d]);
      first.push_back(pick(random, 2) == 0 ? 0 : static_cast<index_t>(pick(random, extent)));
      step.push_back(1 + static_cast<index_t>(pick(random, 4) == 0 ? pick(random, 3) : 0));
      const index_t most = (chunk[d] - first[d] - 1) / step[d] + 1;
      count.push_back(pick(random, 2) == 0
                          ? most
                          : 1 + static_cast<index_t>(pick(random, static_cast<std::size_t>(most))));
    }
    const selection part(first, count, step);
    REQUIRE(part.check(chunk));
    const auto place = random_layout(random, count, 1);
    std::vector<std::byte> stored(static_cast<std::size_t>(element_count(chunk).value()));
    for (std::byte& b : stored) b = static_cast<std::byte>(random());
    std::vector<std::byte> memory(place.size);
    mutable_host_view to = bytes_at(memory, count, place.strides);
    to.data += place.first;
    const auto rows = detail::raw_rows::of(part, chunk, to);
    if (!rows) continue;
    ++used;
    rows->for_each([&](std::uint64_t from, index_t at) {
      std::copy_n(stored.data() + from, rows->run_bytes, to.data + at);
      return true;
    });
    const dims strides = row_major_strides(chunk, 1);
    for_each_coordinate(count, [&](const dims& at) {
      dims source(rank, 0);
      for (std::size_t d = 0; d < rank; ++d) source[d] = first[d] + at[d] * step[d];
      CHECK(to.data[offset_of(at, place.strides)] ==
            stored[static_cast<std::size_t>(offset_of(source, strides))]);
    });
  }
  CHECK(used > 300);
}

}}  // namespace raw_rows_test
