// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/blosc/blosc_frame.hpp>

#include "support/lz_stream_cases.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace blosc_frame_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::detail::blosc_format;
using zp::detail::blosc_header;
using bytes = std::vector<std::byte>;

namespace {

/// A frame of 3000 bytes in 3 blocks, zstd, of elements of 4 bytes, with nothing in its body.
bytes frame(std::size_t size = 100) {
  bytes out(size);
  blosc_header header;
  header.flags = blosc_header::byte_shuffle;
  header.format = blosc_format::zstd;
  header.type_size = 4;
  header.bytes = 3000;
  header.block_size = 1024;
  header.frame_size = size;
  header.write(out.data());
  return out;
}

zp::errc code_of(const bytes& stored) {
  const auto header = blosc_header::parse(stored);
  REQUIRE_FALSE(header);
  return header.failure().code;
}
bytes with(std::size_t at, unsigned value) {
  bytes out = frame();
  out[at] = static_cast<std::byte>(value);
  return out;
}
bytes with_number(std::size_t at, std::uint32_t value) {
  bytes out = frame();
  zp::store_le<std::uint32_t>(out.data() + at, value);
  return out;
}

}  // namespace

TEST_CASE("blosc_frame: the header as c-blosc writes it") {
  // 512 KiB of bfloat16 in one block, split into its planes, by zstd.
  bytes stored(0x572ae);
  const bytes head = from_hex("020181020000080000000800ae720500");
  std::copy(head.begin(), head.end(), stored.begin());
  const blosc_header header = blosc_header::parse(stored).value();
  CHECK(header.format == blosc_format::zstd);
  CHECK(header.flags == blosc_header::byte_shuffle);
  CHECK(header.type_size == 2);
  CHECK(header.bytes == 512 << 10);
  CHECK(header.block_size == 512 << 10);
  CHECK(header.frame_size == stored.size());
  CHECK(header.block_count() == 1);
  CHECK(header.body() == 20);
  CHECK(header.streams(512 << 10) == 2);
  bytes again(16);
  header.write(again.data());
  CHECK(again == head);
}

TEST_CASE("blosc_frame: blocks, the short last one, and which are split") {
  const blosc_header header = blosc_header::parse(frame()).value();
  CHECK(header.block_count() == 3);
  CHECK(header.block_bytes(0) == 1024);
  CHECK(header.block_bytes(2) == 952);
  CHECK(header.streams(1024) == 4);
  CHECK(header.streams(952) == 1);
  CHECK(header.body() == 28);
  blosc_header other = header;
  other.flags |= blosc_header::not_split;
  CHECK(other.streams(1024) == 1);
  other = header;
  other.type_size = 8;
  CHECK(other.streams(1024) == 8);
  other.type_size = 9;  // fewer than 128 elements
  CHECK(other.streams(1024) == 1);
  other.block_size = 17 * 128;
  other.type_size = 17;
  CHECK(other.streams(17 * 128) == 1);
  other.block_size = 16 * 128;
  other.type_size = 16;
  CHECK(other.streams(16 * 128) == 16);
}

TEST_CASE("blosc_frame: stored frames") {
  const blosc_header empty =
      blosc_header::parse(from_hex("02013301000000000100000010000000")).value();
  CHECK(empty.bytes == 0);
  CHECK(empty.has(blosc_header::stored));
  const blosc_header three =
      blosc_header::parse(from_hex("02013201030000000300000013000000616263")).value();
  CHECK(three.bytes == 3);
  // A frame of nothing is stored, whether it says so or not.
  const blosc_header nothing =
      blosc_header::parse(from_hex("02013101000000000100000010000000")).value();
  CHECK(nothing.has(blosc_header::stored));
  CHECK(code_of(from_hex("020132010300000003000000120000006162")) == zp::errc::corrupt);
  CHECK(code_of(from_hex("0201310100000000010000001100000061")) == zp::errc::corrupt);
}

TEST_CASE("blosc_frame: headers that are none") {
  REQUIRE(blosc_header::parse(frame()));
  const bytes whole = frame();
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK(code_of(copy_of(zp::bytes_view(whole).first(size))) == zp::errc::corrupt);
  bytes longer = frame();
  longer.push_back({});
  CHECK(code_of(longer) == zp::errc::corrupt);
  CHECK(code_of(bytes(longer.begin(), longer.end() - 2)) == zp::errc::corrupt);
  CHECK(code_of(with(0, 1)) == zp::errc::corrupt);
  for (const unsigned version : {3u, 4u, 5u})
    CHECK(code_of(with(0, version)) == zp::errc::unsupported);
  CHECK(code_of(with(0, 6)) == zp::errc::corrupt);
  CHECK(code_of(with(1, 0)) == zp::errc::corrupt);
  CHECK(code_of(with(1, 2)) == zp::errc::corrupt);
  CHECK(code_of(with(2, 4 << 5 | 1 | 8)) == zp::errc::corrupt);  // reserved
  CHECK(code_of(with(2, 4 << 5 | 1 | 4)) == zp::errc::corrupt);  // both shuffles
  CHECK(code_of(with(2, 5 << 5 | 1)) == zp::errc::corrupt);      // no such format
  CHECK(code_of(with(3, 0)) == zp::errc::corrupt);               // elements of no bytes
  CHECK(code_of(with_number(4, 0)) == zp::errc::corrupt);        // a body of nothing
  CHECK(code_of(with_number(4, 1023)) == zp::errc::corrupt);     // a block larger than all
  CHECK(code_of(with_number(4, 0x7ffffff0)) == zp::errc::corrupt);
  CHECK(code_of(with_number(4, 0xffffffff)) == zp::errc::corrupt);
  CHECK(code_of(with_number(8, 0)) == zp::errc::corrupt);    // blocks of nothing
  CHECK(code_of(with_number(8, 100)) == zp::errc::corrupt);  // too many to be listed
  CHECK(code_of(with_number(8, 3001)) == zp::errc::corrupt);
  CHECK(code_of(with_number(12, 99)) == zp::errc::corrupt);
  CHECK(code_of(with_number(12, 101)) == zp::errc::corrupt);
  CHECK(code_of(with_number(12, 0)) == zp::errc::corrupt);
}

TEST_CASE("blosc_frame: the largest that a header may say") {
  // One block of all bytes that a block may have, or two; and nothing after the list of them.
  bytes stored = frame(20);
  zp::store_le<std::uint32_t>(stored.data() + 4, blosc_header::max_block);
  zp::store_le<std::uint32_t>(stored.data() + 8, blosc_header::max_block);
  CHECK(blosc_header::parse(stored).value().block_count() == 1);
  zp::store_le<std::uint32_t>(stored.data() + 4, blosc_header::max_block + 1);
  zp::store_le<std::uint32_t>(stored.data() + 8, blosc_header::max_block + 1);
  CHECK(code_of(stored) == zp::errc::corrupt);
  bytes most = frame(60);
  zp::store_le<std::uint32_t>(most.data() + 4, blosc_header::max_bytes);
  zp::store_le<std::uint32_t>(most.data() + 8, blosc_header::max_block);
  CHECK(blosc_header::parse(most).value().bytes == blosc_header::max_bytes);
  zp::store_le<std::uint32_t>(most.data() + 4, blosc_header::max_bytes + 1);
  CHECK(blosc_header::parse(most).failure().message == "more bytes than a frame may hold");
}

TEST_CASE("blosc_frame: what a refusal says of the frame") {
  CHECK(blosc_header::parse(with(0, 7)).failure().message == "frame format 7; expected 2");
  CHECK(blosc_header::parse(with(1, 9)).failure().message == "streams of format 4, version 9");
}

TEST_CASE("blosc_frame: kept memory comes from the resource") {
  zp::limited_resource budget(1000);
  {
    zp::detail::blosc_memory memory(budget);
    CHECK(memory.get(0).value().empty());
    CHECK(memory.get(600).value().size() == 600);
    CHECK(memory.get(900).value().size() == 900);
    CHECK(memory.get(10).value().size() == 10);
    CHECK(memory.get(2000).failure().code == zp::errc::resource_limit);
  }
  CHECK(budget.in_use() == 0);

  zp::limited_resource large(std::size_t{16} << 20);
  zp::detail::blosc_memory memory(large);
  for (const std::size_t megabytes : {4u, 5u}) {
    CHECK(memory.get(megabytes << 20));
    memory.trim();
    CHECK(large.in_use() == (megabytes == 4 ? std::size_t{4} << 20 : 0));
  }
}

}  // namespace blosc_frame_test
