// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/bytes_to_bytes/crc32c_codec.hpp>

#include "support/codec_conformance.hpp"

#include <doctest/doctest.h>

namespace crc32c_codec_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("crc32c codec: conformance") { codec_conformance(zp::crc32c_codec{}); }

TEST_CASE("crc32c codec: the checksum stands at the end, little-endian") {
  std::vector<std::byte> buffer = copy_of(zp::as_bytes("123456789"));
  buffer.resize(13);
  REQUIRE(zp::crc32c_codec{}.encode_in_place(buffer, 9).value() == 13);
  CHECK(zp::load_le<std::uint32_t>(buffer.data() + 9) == 0xe3069283);
  CHECK(zp::as_text(zp::crc32c_codec{}.decode_in_place(buffer).value()) == "123456789");
}

TEST_CASE("crc32c codec: every single bit matters, and the error says what was expected") {
  std::vector<std::byte> buffer = copy_of(zp::as_bytes("123456789"));
  buffer.resize(13);
  REQUIRE(zp::crc32c_codec{}.encode_in_place(buffer, 9));
  for (std::size_t bit = 0; bit < 8 * buffer.size(); ++bit) {
    buffer[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    CHECK(zp::crc32c_codec{}.decode_in_place(buffer).failure().code == zp::errc::corrupt);
    buffer[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  }
  buffer[9] = std::byte{0};
  CHECK(zp::crc32c_codec{}.decode_in_place(buffer).failure().message ==
        "checksum mismatch: stored 0xe3069200, computed 0xe3069283 over 9 bytes");
  for (std::size_t size = 0; size < buffer.size(); ++size)
    CHECK_FALSE(zp::crc32c_codec{}.decode_in_place(zp::bytes_view(buffer).first(size)));
}

TEST_CASE("crc32c codec: bounds do not overflow") {
  CHECK(zp::crc32c_codec{}.encoded_bound(0) == 4);
  CHECK(zp::crc32c_codec{}.encoded_bound(UINT64_MAX - 4) == UINT64_MAX);
  CHECK(zp::crc32c_codec{}.encoded_bound(UINT64_MAX - 1) == UINT64_MAX);
}

}  // namespace crc32c_codec_test
