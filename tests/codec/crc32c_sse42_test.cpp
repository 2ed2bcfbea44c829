// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/checksum/crc32c_x86.hpp>

#include "support/crc32c_reference.hpp"

#include <doctest/doctest.h>

namespace crc32c_sse42_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

#if defined(__x86_64__)

TEST_CASE("crc32c_sse42: agrees with the definition and RFC 3720") {
  if (!zp::detail::has_crc32c_sse42()) {
    MESSAGE("this CPU has no SSE4.2 and PCLMULQDQ: not run");
    return;
  }
  check_crc32c_kernel(zp::detail::crc32c_sse42);
  check_crc32c_kernel(zp::detail::crc32c_single);
  check_crc32c_vectors(
      [](zp::bytes_view data) { return ~zp::detail::crc32c_sse42(~0u, data.data(), data.size()); });
}

#endif

}  // namespace crc32c_sse42_test
