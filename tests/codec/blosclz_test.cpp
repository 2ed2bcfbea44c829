// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/kit/lz_blocks.hpp>

#include "support/lz_stream_cases.hpp"

#include <doctest/doctest.h>

namespace blosclz_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

const lz_stream_decoder decode = [](zp::bytes_view from, zp::mutable_bytes to) {
  return zp::detail::blosclz_decode(from, to);
};

}  // namespace

TEST_CASE("blosclz: streams that c-blosc made") {
  std::vector<std::byte> letters(300);
  for (std::size_t i = 0; i < 300; ++i) letters[i] = static_cast<std::byte>("abcdefgh"[i % 8]);
  check_lz_stream(decode, from_hex("276162636465666768e0ff190702626364"), letters);
  // The same at another level of the encoder, which is of no importance.
  check_lz_stream(decode, from_hex("476162636465666768e0ff190702626364"), letters);
}

TEST_CASE("blosclz: distances of 13 bits, of 13 bits all ones, and of 16 more") {
  std::vector<std::byte> expected(8192 + 300);
  // Without periods: a match of any other distance would show.
  random_source random(5);
  for (std::byte& one : expected) one = static_cast<std::byte>(random());
  std::vector<std::byte> stream;
  for (std::size_t i = 0; i < expected.size(); i += 32) {
    const std::size_t n = std::min<std::size_t>(32, expected.size() - i);
    stream.push_back(static_cast<std::byte>(n - 1));
    for (std::size_t j = 0; j < n; ++j) stream.push_back(expected[i + j]);
  }
  const auto match = [&](std::vector<std::byte> bytes, std::size_t distance, std::size_t length) {
    stream.insert(stream.end(), bytes.begin(), bytes.end());
    for (std::size_t i = 0; i < length; ++i)
      expected.push_back(expected[expected.size() - distance]);
  };
  match(from_hex("3ffe"), 8191, 3);
  match(from_hex("5fff0000"), 8192, 4);
  match(from_hex("3fff0001"), 8193, 3);
  check_lz_stream(decode, stream, expected);  // whose last match ends it
  match(from_hex("ff00ff0100"), 8192 + 256, 9);
  match(from_hex("20ff"), 256, 3);
  match(from_hex("e0fffe00"), 1, 6 + 255 + 254 + 3);
  check_lz_stream(decode, stream, expected);
}

TEST_CASE("blosclz: what is not a stream") {
  const auto code = [](std::string_view digits) {
    std::vector<std::byte> to(1000);
    return decode(page_end(from_hex(digits)).bytes(), to).failure().code;
  };
  CHECK(code("") == zp::errc::corrupt);
  CHECK(code("0161") == zp::errc::corrupt);    // one literal of two
  CHECK(code("006120") == zp::errc::corrupt);  // a match without a distance
  CHECK(code("0061e0") == zp::errc::corrupt);  // nor its length
  CHECK(code("0061e0ff") == zp::errc::corrupt);
  CHECK(code("0061e000") == zp::errc::corrupt);
  CHECK(code("00613fff") == zp::errc::corrupt);  // nor the rest of its distance
  CHECK(code("00613fff00") == zp::errc::corrupt);
  CHECK(code("00612001") == zp::errc::corrupt);  // before the beginning
  CHECK(code("00613fff0000") == zp::errc::corrupt);
}

}  // namespace blosclz_test
