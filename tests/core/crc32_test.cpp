// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/checksum/crc32.hpp>

#include "support/store_conformance.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace crc32_test {

using namespace zarrpoint;

TEST_CASE("crc32: the check value of its catalogue, and zlib's values") {
  CHECK(detail::crc32(0, as_bytes("123456789")) == 0xcbf43926);
  CHECK(detail::crc32(0, {}) == 0);
  const auto data = test::random_bytes(1000);
  for (std::size_t size = 0; size < 100; ++size) {
    for (std::size_t offset = 0; offset < 9; ++offset) {
      const auto part = bytes_view(data).subspan(offset, size);
      CHECK(detail::crc32(17, part) ==
            crc32_z(17, reinterpret_cast<const Bytef*>(part.data()), part.size()));
    }
  }
}

TEST_CASE("crc32: every length and alignment that is folded, as zlib has it") {
  const auto data = test::random_bytes(70'000);
  const auto expect_same = [&](std::size_t offset, std::size_t size) {
    const auto part = bytes_view(data).subspan(offset, size);
    CHECK(detail::crc32(0x8000'0001, part) ==
          crc32_z(0x8000'0001, reinterpret_cast<const Bytef*>(part.data()), part.size()));
  };
  for (std::size_t size = 100; size < 1000; ++size) expect_same(size % 67, size);
  for (std::size_t size = 60'000; size < 60'200; ++size) expect_same(size % 129, size);
  const std::vector<std::byte> zeros(4096);  // of a register that is not 0
  CHECK(detail::crc32(5, zeros) ==
        crc32_z(5, reinterpret_cast<const Bytef*>(zeros.data()), zeros.size()));
}

TEST_CASE("crc32: pieces are joined") {
  const auto data = test::random_bytes(5000);
  const bytes_view all(data);
  const std::uint32_t whole = detail::crc32(0, all);
  for (const std::size_t split : {0U, 1U, 15U, 16U, 17U, 1000U, 4096U, 4999U, 5000U}) {
    const std::uint32_t first = detail::crc32(0, all.first(split));
    const std::uint32_t second = detail::crc32(0, all.subspan(split));
    CHECK(detail::crc32(first, all.subspan(split)) == whole);
    CHECK(detail::crc32_combine(first, second, data.size() - split) == whole);
  }
  // Beyond 32 bits: what zlib says.
  CHECK(detail::crc32_combine(0x12345678, 0x9abcdef0, std::uint64_t{5} << 32) ==
        crc32_combine64(0x12345678, 0x9abcdef0, static_cast<z_off_t>(std::uint64_t{5} << 32)));
}

}  // namespace crc32_test
