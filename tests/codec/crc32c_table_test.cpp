// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/checksum/crc32c_table.hpp>

#include "support/crc32c_reference.hpp"

#include <doctest/doctest.h>

namespace crc32c_table_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("crc32c_table: agrees with the definition") {
  check_crc32c_kernel(zp::detail::crc32c_table);
}

TEST_CASE("crc32c_table: RFC 3720") {
  check_crc32c_vectors(
      [](zp::bytes_view data) { return ~zp::detail::crc32c_table(~0u, data.data(), data.size()); });
}

TEST_CASE("crc32c_power: x has order 2^31 - 1, and powers multiply") {
  using zp::detail::crc32c_multiply;
  using zp::detail::crc32c_power;
  constexpr std::uint32_t one = 0x80000000;
  static_assert(crc32c_power(0) == one);
  static_assert(crc32c_power(1) == one >> 1);
  static_assert(crc32c_power(32) == zp::detail::crc32c_polynomial);
  CHECK(crc32c_power((std::uint64_t{1} << 31) - 1) == one);
  random_source random(1);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t a = random() >> 2;
    const std::uint64_t b = random() >> 2;
    REQUIRE(crc32c_multiply(crc32c_power(a), crc32c_power(b)) == crc32c_power(a + b));
  }
}

}  // namespace crc32c_table_test
