// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/checksum/crc32c_x86.hpp>

#include "support/crc32c_reference.hpp"

#include <doctest/doctest.h>

namespace crc32c_avx512_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

#if defined(__x86_64__)

// The algorithm runs everywhere in crc32c_fold_test.cpp; here with the real instructions.
TEST_CASE("crc32c_avx512: agrees with the definition and RFC 3720") {
  if (!zp::detail::has_crc32c_avx512()) {
    MESSAGE("this CPU has no VPCLMULQDQ: not run");
    return;
  }
  check_crc32c_kernel(zp::detail::crc32c_avx512);
  check_crc32c_vectors([](zp::bytes_view data) {
    return ~zp::detail::crc32c_avx512(~0u, data.data(), data.size());
  });
}

#endif

}  // namespace crc32c_avx512_test
