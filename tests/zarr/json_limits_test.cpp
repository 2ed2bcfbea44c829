// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/json/json.hpp>

#include <doctest/doctest.h>

namespace json_limits_test {

TEST_CASE("the number of values follows the size of a document, unless it is given") {
  CHECK(zarrpoint::json_limits{.max_bytes = 12 << 20}.node_limit() == std::size_t{1} << 20);
  CHECK(zarrpoint::json_limits{.max_bytes = 1}.node_limit() == 4096);
  CHECK(zarrpoint::json_limits{.max_nodes = 3}.node_limit() == 3);
}

}  // namespace json_limits_test
