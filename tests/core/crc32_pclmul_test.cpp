// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/core/checksum/crc32_x86.hpp>

#include "support/store_conformance.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace crc32_pclmul_test {

using namespace zarrpoint;

std::uint32_t by_zlib(std::uint32_t crc, bytes_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

TEST_CASE("crc32_power: what zeros make of a register") {
  CHECK(detail::crc32_power(0) == 0x80000000);
  CHECK(detail::crc32_power(32) == detail::crc32_polynomial);  // x^32 modulo P
  CHECK(detail::crc32_multiply(0x80000000, 0x12345678) == 0x12345678);
  const std::vector<std::byte> zeros(1000);
  for (const std::size_t size : {1U, 7U, 64U, 1000U}) {
    const std::uint32_t before = 0x9abcdef0;
    const auto part = bytes_view(zeros).first(size);
    CHECK(detail::crc32_multiply(detail::crc32_power(8 * size), before) == ~by_zlib(~before, part));
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
TEST_CASE("crc32_fold: what is folded has the remainder of the whole") {
  if (!detail::x86_features::of_this_cpu().sse42_pclmul) return;
  const auto data = test::random_bytes(4096 + 16);
  const std::uint32_t state = 0x12345678;
  for (std::size_t size = 64; size <= 4096; size += 64) {
    for (const std::size_t offset : {0U, 1U, 15U}) {
      const auto part = bytes_view(data).subspan(offset, size);
      std::array<std::byte, 64> folded{};
      detail::crc32_fold<4>(state, part.data(), part.size(), folded.data());
      CHECK(by_zlib(~std::uint32_t{0}, folded) == by_zlib(~state, part));
    }
  }
}

TEST_CASE("crc32_short: any size") {
  if (!detail::x86_features::of_this_cpu().sse42_pclmul) return;
  const auto data = test::random_bytes(300 + 1);
  const std::uint32_t state = 0x12345678;
  for (std::size_t size = 0; size <= 300; ++size) {
    const auto part = bytes_view(data).subspan(1, size);
    CHECK(~detail::crc32_short(state, part.data(), part.size()) == by_zlib(~state, part));
  }
}
#endif

}  // namespace crc32_pclmul_test
