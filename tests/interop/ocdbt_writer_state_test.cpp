// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/ocdbt/ocdbt_database.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_writer_state.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace ocdbt_writer_state_test {

using namespace zarrpoint;

TEST_CASE("numbered_ocdbt_name: sixteen digits, so that names are in the order of generations") {
  const std::string begin(detail::ocdbt_numbered_name);
  CHECK(detail::numbered_ocdbt_name(0) == begin + "0000000000000000");
  CHECK(detail::numbered_ocdbt_name(0x1b) == begin + "000000000000001b");
  CHECK(detail::numbered_ocdbt_name(UINT64_MAX) == begin + "ffffffffffffffff");
  std::string before;
  for (std::uint64_t generation = 1; generation != 0; generation <<= 1) {
    const std::string name = detail::numbered_ocdbt_name(generation);
    REQUIRE(before < name);
    before = name;
  }
}

}  // namespace ocdbt_writer_state_test
