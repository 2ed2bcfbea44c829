// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/loop_nest.hpp>

#include "support/random_layout.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <utility>

namespace loop_nest_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("loop_nest: visits each pair of places of the naive loops once") {
  random_source random(12);
  for (int n = 0; n < 2000; ++n) {
    const zp::dims shape = random_shape(random, 5, 4);
    const layout to = random_layout(random, shape, 2);
    const layout from = random_layout(random, shape, 4, true);
    std::multiset<std::pair<zp::index_t, zp::index_t>> expected;
    for_each_coordinate(shape, [&](const zp::dims& at) {
      expected.insert({offset_of(at, to.strides), offset_of(at, from.strides)});
    });
    const zp::detail::loop_nest nest(shape, to.strides, from.strides);
    for (const std::size_t inner_axes : {0U, 1U, 2U}) {
      std::multiset<std::pair<zp::index_t, zp::index_t>> actual;
      nest.for_each_outer(inner_axes, [&](zp::index_t at_to, zp::index_t at_from) {
        const zp::detail::loop_axis a = inner_axes > 1 ? nest.inner(1) : zp::detail::loop_axis{};
        const zp::detail::loop_axis b = inner_axes > 0 ? nest.inner(0) : zp::detail::loop_axis{};
        for (zp::index_t i = 0; i < a.count; ++i)
          for (zp::index_t j = 0; j < b.count; ++j)
            actual.insert({at_to + i * a.to + j * b.to, at_from + i * a.from + j * b.from});
        return true;
      });
      REQUIRE(actual == expected);
    }
  }
}

TEST_CASE("loop_nest: merges what is contiguous and turns what runs backwards") {
  using zp::detail::loop_nest;
  const zp::dims shape{4, 1, 3, 5};
  const zp::dims dense = zp::row_major_strides(shape, 4);
  const loop_nest one(shape, dense, dense);
  CHECK(one.rank == 1);
  CHECK(one.inner(0).count == 60);
  CHECK(one.inner(1).count == 1);

  zp::dims backwards = dense;
  for (zp::index_t& stride : backwards) stride = -stride;
  const loop_nest reversed(shape, backwards, backwards);
  CHECK(reversed.rank == 1);
  CHECK(reversed.inner(0).to == 4);
  CHECK(reversed.to_offset == -59 * 4);

  const loop_nest rows({8, 4}, {64, 4}, {16, 4});
  CHECK(rows.rank == 2);
  const loop_nest transposed({8, 4}, {4, 32}, {16, 4});
  CHECK(transposed.inner(0).count == 8);
}

TEST_CASE("loop_nest: stops when told to, and never begins when there is nothing") {
  const zp::detail::loop_nest nest({10}, {1}, {1});
  int steps = 0;
  CHECK_FALSE(nest.for_each_outer(0, [&](zp::index_t, zp::index_t) { return ++steps < 4; }));
  CHECK(steps == 4);

  const zp::dims shape{0, INT64_MAX, INT64_MAX};
  const zp::detail::loop_nest none(shape, {INT64_MAX, -INT64_MAX, 1}, {1, 1, 1});
  CHECK(none.for_each_outer(1, [](zp::index_t, zp::index_t) { return false; }));

  steps = 0;
  CHECK(zp::detail::loop_nest({}, {}, {}).for_each_outer(2, [&](zp::index_t, zp::index_t) {
    return ++steps > 0;
  }));
  CHECK(steps == 1);
}

}  // namespace loop_nest_test
