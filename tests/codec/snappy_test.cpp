// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/kit/lz_blocks.hpp>

#include "support/lz_stream_cases.hpp"

#include <doctest/doctest.h>

namespace snappy_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

const lz_stream_decoder decode = [](zp::bytes_view from, zp::mutable_bytes to) {
  return zp::detail::snappy_decode(from, to);
};

zp::errc code_of(std::string_view digits, std::size_t room = 1000) {
  std::vector<std::byte> to(room);
  return decode(from_hex(digits), to).failure().code;
}

}  // namespace

TEST_CASE("snappy: streams that snappy 1.1.9 made") {
  std::vector<std::byte> letters(300);
  std::vector<std::byte> squares(300);
  for (std::size_t i = 0; i < 300; ++i) {
    letters[i] = static_cast<std::byte>("abcdefgh"[i % 8]);
    squares[i] = static_cast<std::byte>(i * i % 23 + 65);
  }
  check_lz_stream(decode, from_hex("ac021c6162636465666768fe0800fe0800fe0800fe08008e0800"),
                  letters);
  check_lz_stream(decode,
                  from_hex("ac02584142454a51434e44534d494747494d53444e43514a4542fe1700fe1700fe1700"
                           "fe1700521700"),
                  squares);
  check_lz_stream(decode, from_hex("051068656c6c6f"), copy_of(zp::as_bytes("hello")));
  check_lz_stream(decode, from_hex("00"), {});
}

TEST_CASE("snappy: literals of every form, copies of every form") {
  random_source random(21);
  std::vector<std::byte> expected;
  std::vector<std::byte> body;
  const auto append = [&](const std::vector<std::byte>& bytes) {
    body.insert(body.end(), bytes.begin(), bytes.end());
  };
  const auto literal = [&](std::string_view head, std::size_t length) {
    const std::vector<std::byte> bytes = random_bytes(random, length);
    append(from_hex(head));
    append(bytes);
    expected.insert(expected.end(), bytes.begin(), bytes.end());
  };
  const auto copy = [&](std::string_view head, std::size_t distance, std::size_t length) {
    append(from_hex(head));
    for (std::size_t i = 0; i < length; ++i)
      expected.push_back(expected[expected.size() - distance]);
  };
  literal("ec", 60);
  literal("f03c", 61);
  literal("f0ff", 256);
  literal("f40001", 257);
  literal("f8000001", 65537);
  literal("fc04000000", 5);
  copy("0101", 1, 4);
  copy("fdff", 2047, 11);
  copy("02ffff", 65535, 1);
  copy("fe0100", 1, 64);
  copy("0b00000100", 65536, 3);
  copy("ff03000000", 3, 64);
  std::vector<std::byte> stream;
  for (std::size_t rest = expected.size(); true; rest >>= 7) {
    stream.push_back(static_cast<std::byte>((rest & 127) | (rest > 127 ? 128u : 0u)));
    if (rest <= 127) break;
  }
  stream.insert(stream.end(), body.begin(), body.end());
  check_lz_stream(decode, stream, expected);
}

TEST_CASE("snappy: what is not a stream") {
  CHECK(code_of("") == zp::errc::corrupt);
  CHECK(code_of("ff") == zp::errc::corrupt);            // a length without end
  CHECK(code_of("ffffffff10") == zp::errc::corrupt);    // and above 32 bits
  CHECK(code_of("ffffffff8f00") == zp::errc::corrupt);  // in more than five bytes
  CHECK(code_of("ffffffff0f") == zp::errc::out_of_range);
  CHECK(code_of("0200") == zp::errc::corrupt);  // a literal without its byte
  CHECK(code_of("02f0") == zp::errc::corrupt);  // nor its length
  CHECK(code_of("02fc0000") == zp::errc::corrupt);
  CHECK(code_of("0500610100") == zp::errc::corrupt);  // distance 0
  CHECK(code_of("0500610102") == zp::errc::corrupt);  // before the beginning
  CHECK(code_of("05006101") == zp::errc::corrupt);    // no distance
  CHECK(code_of("0500610201") == zp::errc::corrupt);
  CHECK(code_of("05006103010000") == zp::errc::corrupt);
  CHECK(code_of("020061") == zp::errc::corrupt);      // shorter than announced
  CHECK(code_of("0004616263") == zp::errc::corrupt);  // longer
}

}  // namespace snappy_test
