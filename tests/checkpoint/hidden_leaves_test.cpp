// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/save/hidden_leaves.hpp>

#include <doctest/doctest.h>

namespace hidden_leaves_test {

using namespace zarrpoint;

TEST_CASE("hidden_leaves: a sentence for each data type, which names the first leaf") {
  detail::hidden_leaves hidden;
  hidden.add("w", dtype_kind::float32, 3);
  hidden.add("name", dtype_kind::string, 3);
  hidden.add("o", dtype_kind::bytes, 3);
  CHECK(hidden.warnings().empty());
  hidden.add("a", dtype_kind::bfloat16, 3);
  hidden.add("b", dtype_kind::int4, 3);
  hidden.add("c", dtype_kind::bfloat16, 2);
  const auto said = hidden.warnings();
  REQUIRE(said.size() == 2);
  CHECK(
      said[0] ==
      "bfloat16: zarr-python cannot open 2 leaves, such as \"a\", and cannot list the groups that "
      "hold them; it can open the other leaves by name");
  CHECK(said[1] ==
        "int4: zarr-python cannot open \"b\", and cannot list the groups that hold it; it can open "
        "the other leaves by name");
}

}  // namespace hidden_leaves_test
