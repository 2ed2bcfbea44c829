// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/blosc/zstd_literals.hpp>
#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>

#include "support/huffman_cases.hpp"
#include "support/libzstd_literals.hpp"
#include "support/random_rounds.hpp"

#include <doctest/doctest.h>
#include <zstd.h>

#include <vector>

namespace zstd_literals_encode_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::detail::byte_counts;
using zp::detail::encode_zstd_literals;
using zp::detail::huffman_kernel;
using bytes = std::vector<std::byte>;

namespace {

constexpr std::size_t head = 9;
constexpr std::size_t block_head = 3;

/// The frame, which all kernels make the same, libzstd reads, and our decoder.
bytes frame_of(const bytes& from) {
  zp::codec_workspace scratch;
  bytes out;
  for (const huffman_kernel kernel : huffman_kernels()) {
    guarded_bytes room(from.size() + 100);
    const std::size_t size = encode_zstd_literals(from, room.bytes(), scratch, kernel).value();
    REQUIRE(room.intact());
    const bytes made = copy_of(room.bytes().first(size));
    if (out.empty()) out = made;
    REQUIRE(made == out);
  }
  bytes back(from.size());
  const std::size_t size = ZSTD_decompress(back.data(), back.size(), out.data(), out.size());
  REQUIRE_MESSAGE(!ZSTD_isError(size), ZSTD_getErrorName(size));
  REQUIRE(size == from.size());
  REQUIRE(back == from);
  if (from.size() >= 4096) {
    bytes again(from.size());
    REQUIRE(zp::detail::decode_zstd_literals(out, again, scratch));
    REQUIRE(again == from);
  }
  return out;
}

unsigned block_type(const bytes& frame, std::size_t at) {
  return std::to_integer<unsigned>(frame[at]) >> 1 & 3;
}

}  // namespace

TEST_CASE("zstd_literals_encode: histograms of all kinds") {
  random_source random(1);
  for (const byte_counts& counts : huffman_histograms(random)) {
    for (const std::size_t size : {1000u, 5000u, 40'000u}) {
      if (zarrpoint_test::is_thinned && pick(random, 3) != 0) continue;
      const bytes from = bytes_like(counts, size, random);
      const std::size_t made = frame_of(from).size();
      REQUIRE(made <= size + head + block_head);
      // Of large ones what libzstd makes, or less; it has other bounds for what is worth it.
      if (size == 40'000) REQUIRE(made <= literals_by_libzstd(from).size() + size / 50 + 10);
    }
  }
}

TEST_CASE("zstd_literals_encode: sizes at all borders") {
  random_source random(2);
  byte_counts counts{};
  for (std::size_t i = 0; i < 40; ++i) counts[100 + i] = 1U << (i % 14);
  std::vector<std::size_t> sizes;
  for (std::size_t size = 0; size < 300; ++size) sizes.push_back(size);
  for (const std::size_t border :
       {1024u, 4096u, 16'384u, 65'536u, 131'072u, 262'144u, 1'048'576u}) {
    if (border > zarrpoint_test::random_rounds(std::size_t{1'048'576})) continue;
    for (const int off : {-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5})
      sizes.push_back(static_cast<std::size_t>(static_cast<int>(border) + off));
  }
  for (const std::size_t size : sizes) {
    CAPTURE(size);
    frame_of(bytes_like(counts, size, random));
  }
}

TEST_CASE("zstd_literals_encode: blocks that are raw, of one byte, and coded") {
  random_source random(3);
  constexpr std::size_t block = 131'072;
  byte_counts few{};
  few[10] = 5;
  few[11] = 3;
  few[12] = 2;
  const auto append = [](bytes& to, const bytes& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  bytes from = random_bytes(random, block);
  append(from, bytes(block, std::byte{7}));
  append(from, bytes_like(few, block, random));
  append(from, bytes(block + 1, std::byte{11}));
  const bytes frame = frame_of(from);
  CHECK(block_type(frame, head) == 0);
  const std::size_t second = head + block_head + block;
  CHECK(block_type(frame, second) == 1);
  CHECK(block_type(frame, second + block_head + 1) == 2);
  CHECK(frame.size() < block + block / 4);
  CHECK(frame_of(bytes(3 * block, std::byte{9})).size() == head + 3 * (block_head + 1));
  CHECK(frame_of({}).size() == head + block_head);
  CHECK(frame_of(bytes(1)).size() == head + block_head + 1);
}

TEST_CASE("zstd_literals_encode: one code for blocks that are alike, but not for others") {
  random_source random(4);
  constexpr std::size_t block = 131'072;
  byte_counts first{};
  byte_counts second{};
  for (std::size_t i = 0; i < 12; ++i) {
    first[100 + i] = 1U << i;
    second[100 + i] = 1U << (11 - i);
  }
  const auto literals_types = [&](const bytes& from) {
    const bytes frame = frame_of(from);
    std::vector<unsigned> out;
    for (std::size_t at = head; at < frame.size();) {
      const std::size_t size = zp::load_le<std::uint32_t>(&frame[at]) >> 3 & 0x1fffff;
      out.push_back(std::to_integer<unsigned>(frame[at + block_head]) & 3);
      at += block_head + size;
    }
    return out;
  };
  CHECK(literals_types(bytes_like(first, 3 * block, random)) == std::vector<unsigned>{2, 3, 3});
  CHECK(literals_types(bytes_like(first, 9 * block, random)) ==
        std::vector<unsigned>{2, 3, 3, 3, 3, 3, 3, 3, 2});
  bytes both = bytes_like(first, block, random);
  const bytes other = bytes_like(second, block, random);
  both.insert(both.end(), other.begin(), other.end());
  CHECK(literals_types(both) == std::vector<unsigned>{2, 2});
}

TEST_CASE("zstd_literals_encode: writes no more than there is room for") {
  random_source random(5);
  byte_counts counts{};
  for (std::size_t i = 0; i < 30; ++i) counts[i] = 1U << (i % 10);
  zp::codec_workspace scratch;
  for (const std::size_t size : {50u, 3000u, 200'000u}) {
    const bytes from = bytes_like(counts, size, random);
    const std::size_t whole = frame_of(from).size();
    for (std::size_t room = 0; room < whole; room += room < 200 ? 1 : whole / 50 + 1) {
      guarded_bytes out(room);
      const auto made = encode_zstd_literals(from, out.bytes(), scratch);
      REQUIRE(out.intact());
      REQUIRE_FALSE(made);
      REQUIRE(made.failure().code == zp::errc::out_of_range);
    }
    guarded_bytes out(whole);
    REQUIRE(encode_zstd_literals(from, out.bytes(), scratch).value() == whole);
    REQUIRE(out.intact());
  }
}

TEST_CASE("zstd_literals_encode: memory comes from the workspace") {
  zp::limited_resource budget(1000);
  zp::codec_workspace scratch(budget);
  bytes out(1 << 16);
  CHECK(encode_zstd_literals(bytes(10'000), out, scratch).failure().code ==
        zp::errc::resource_limit);
}

}  // namespace zstd_literals_encode_test
