// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/indexed_array.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace gather_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

// Whole selections are in indexed_array_test.cpp.
TEST_CASE("coordinates are grouped by the chunk that holds them") {
  const array of =
      array::from_metadata(recording_store(), key_of("a"),
                           sharded_metadata(raw_metadata(dtype_kind::int8, {20}, {8}), {4}))
          .value();
  const axis_index index = axis_index(20).taken(std::vector<index_t>{9, 1, 8, 9, 6}).value();
  const auto inner = detail::group_axis(of, 0, index, false);
  REQUIRE(inner.size() == 3);
  CHECK(inner[2].low == 8);
  CHECK(inner[2].high == 9);
  CHECK(inner[2].members.size() == 3);
  CHECK(inner[2].members[1].at == 2);
  const auto objects = detail::group_axis(of, 0, index, true);
  REQUIRE(objects.size() == 2);
  CHECK(objects[0].low == 1);
  CHECK(objects[0].high == 6);

  const std::vector<std::vector<detail::axis_group>> axes{inner};
  CHECK_FALSE(detail::group_copy(axes, 2).fill_bounds());  // 9 twice
  CHECK(detail::group_copy(axes, 0).fill_bounds());
  CHECK(detail::group_copy(axes, 2).bounds() == box{{8}, {2}});
}

}  // namespace gather_test
