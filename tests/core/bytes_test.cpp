// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/bytes.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

namespace bytes_test {

namespace zp = zarrpoint;

TEST_CASE("bytes: text and back") {
  CHECK(zp::as_text(zp::as_bytes("a\0b")) == "a");
  CHECK(zp::as_text(zp::as_bytes(std::string_view("a\0b", 3))) == std::string_view("a\0b", 3));
  CHECK(zp::as_bytes("").empty());
}

TEST_CASE("byteswap: every width") {
  static_assert(zp::byteswap(std::uint8_t{0x12}) == 0x12);
  static_assert(zp::byteswap(std::uint16_t{0x1234}) == 0x3412);
  static_assert(zp::byteswap(std::uint32_t{0x12345678}) == 0x78563412);
  static_assert(zp::byteswap(std::uint64_t{0x0123456789abcdef}) == 0xefcdab8967452301);
  CHECK(zp::byteswap(zp::byteswap(std::uint64_t{0x0123456789abcdef})) == 0x0123456789abcdef);
}

TEST_CASE("load_le and store_le: little endian at any address") {
  std::array<std::byte, 9> bytes{};
  zp::store_le<std::uint32_t>(bytes.data() + 1, 0x04030201);
  for (std::size_t i = 0; i < 5; ++i) CHECK(bytes[i] == static_cast<std::byte>(i));
  CHECK(bytes[5] == std::byte{});
  CHECK(zp::load_le<std::uint32_t>(bytes.data() + 1) == 0x04030201);
  CHECK(zp::load_le<std::uint64_t>(bytes.data()) == 0x0403020100);
  CHECK(zp::load_le<std::uint16_t>(bytes.data() + 3) == 0x0403);
  CHECK(zp::load_le<std::uint8_t>(bytes.data() + 4) == 4);
}

}  // namespace bytes_test
