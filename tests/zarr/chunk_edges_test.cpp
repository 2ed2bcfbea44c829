// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/chunks.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace chunk_edges_test {

using namespace zarrpoint;

// The documents are in metadata_v3_test.cpp.
TEST_CASE("chunk extents: each coordinate has its chunk") {
  const axis_edges edges{{{3, 2}, {1, 1}, {4, 2}}};
  const index_t starts[] = {0, 3, 6, 7, 11, 15};
  index_t chunk = 0;
  for (index_t at = 0; at < 15; ++at) {
    if (at == starts[chunk + 1]) ++chunk;
    const axis_edges::chunk found = edges.find(at);
    CHECK(found.index == chunk);
    CHECK(found.start == starts[chunk]);
    CHECK(found.extent == starts[chunk + 1] - starts[chunk]);
  }
  CHECK(edges.check(15));
  CHECK(edges.check(14));
  CHECK_FALSE(edges.check(16));
  const axis_edges even{{{4, 1}}, true};
  CHECK(even.check(INT64_MAX));
  CHECK(even.find(INT64_MAX - 1).extent == 4);
  CHECK_FALSE(axis_edges{{{INT64_MAX, 2}}}.check(1));
  CHECK_FALSE(axis_edges{{{0, 2}}}.check(0));
  CHECK_FALSE(axis_edges().check(0));
  CHECK(edges.at(3).start == 7);
  CHECK(edges.at(5).extent == 0);
  CHECK(even.at(3).start == 12);
  // As fast as it is short: a document may say very many chunks, in a few runs or in many.
  std::vector<chunk_run> runs;
  for (index_t i = 0; i < 200000; ++i) runs.push_back({1 + i % 2, 1});
  const axis_edges many(std::move(runs));
  for (index_t i = 0; i < 300000; ++i) REQUIRE(many.find(i).index == i / 3 * 2 + (i % 3 + 1) / 2);
}

TEST_CASE("chunk extents: copies share their lists, and what was moved from is still one") {
  axis_edges from{{{3, 2}, {1, 1}}};
  const axis_edges copy = from;
  CHECK(&copy.runs() == &from.runs());
  const axis_edges moved = std::move(from);
  CHECK(moved == copy);
  CHECK(from.runs().size() <= 2);
  CHECK(axis_edges() == axis_edges());
  CHECK(axis_edges().runs().empty());
  CHECK(moved == axis_edges{{{3, 2}, {1, 1}}});
  CHECK_FALSE(moved == axis_edges{{{3, 2}, {2, 1}}});
}

}  // namespace chunk_edges_test
