// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/checksum/crc32_x86.hpp>

#include "support/store_conformance.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <cstddef>
#include <cstdint>

namespace crc32_avx512_test {

using namespace zarrpoint;

#if defined(__x86_64__) && defined(__GNUC__)
TEST_CASE("crc32_avx512: every length and alignment, as zlib has it") {
  if (!detail::has_crc32c_avx512()) {
    MESSAGE("this CPU has no VPCLMULQDQ: not run");
    return;
  }
  const auto data = test::random_bytes(70'000);
  const auto expect_same = [&](std::size_t offset, std::size_t size) {
    const auto part = bytes_view(data).subspan(offset, size);
    const std::uint32_t before = 0x8000'0001;
    CHECK(~detail::crc32_avx512(~before, part) ==
          crc32_z(before, reinterpret_cast<const Bytef*>(part.data()), part.size()));
  };
  for (std::size_t size = 0; size < 1500; ++size) expect_same(size % 67, size);
  for (std::size_t size = 60'000; size < 60'300; ++size) expect_same(size % 129, size);
}
#endif

}  // namespace crc32_avx512_test
