// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/checksum/crc32c.hpp>

#include "support/crc32c_reference.hpp"

#include <doctest/doctest.h>

namespace crc32c_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("crc32c: RFC 3720 with every kernel that this CPU has") {
  for (const zp::detail::crc32c_kernel kernel :
       {zp::detail::crc32c_kernel::table, zp::detail::crc32c_kernel::sse42,
        zp::detail::crc32c_kernel::avx512, zp::detail::crc32c_kernel::automatic}) {
    if (!zp::detail::use_crc32c_kernel(kernel)) continue;
    check_crc32c_vectors([](zp::bytes_view data) { return zp::crc32c(data); });
  }
  CHECK(zp::detail::use_crc32c_kernel(zp::detail::crc32c_kernel::table));
  CHECK(zp::detail::use_crc32c_kernel(zp::detail::crc32c_kernel::automatic));
}

TEST_CASE("crc32c: in pieces by seed and by combination") {
  random_source random(7);
  for (int n = 0; n < 500; ++n) {
    const auto data = random_bytes(random, pick(random, 5000));
    const std::size_t cut = pick(random, data.size() + 1);
    const zp::bytes_view all(data);
    const std::uint32_t whole = zp::crc32c(all);
    REQUIRE(zp::crc32c(all.subspan(cut), zp::crc32c(all.first(cut))) == whole);
    REQUIRE(zp::detail::crc32c_combine(zp::crc32c(all.first(cut)), zp::crc32c(all.subspan(cut)),
                                       data.size() - cut) == whole);
  }
}

TEST_CASE("crc32c_combine: lengths of which the bits overflow 64") {
  // x^8 has the order 2^31 - 1 of x, a prime: so many zero bytes change nothing.
  const std::uint32_t a = zp::crc32c(zp::as_bytes("abc"));
  const std::uint32_t b = zp::crc32c(zp::as_bytes("d"));
  const std::uint64_t order = (std::uint64_t{1} << 31) - 1;
  const std::uint64_t many = UINT64_MAX / order * order;
  CHECK(zp::detail::crc32c_combine(a, b, many) == (a ^ b));
  CHECK(zp::detail::crc32c_combine(a, b, many - order + 1) == zp::crc32c(zp::as_bytes("abcd")));
}

}  // namespace crc32c_test
