// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/blosc/blosc.hpp>
#include <zarrpoint/codec/blosc/blosc_decode.hpp>

#include "support/lz_stream_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace blosc_decode_test {

// Frames made by hand, as other writers may make them.

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::detail::blosc_format;
using zp::detail::blosc_header;
using bytes = std::vector<std::byte>;

namespace {

bytes number(std::size_t value) {
  bytes out(4);
  zp::store_le<std::uint32_t>(out.data(), static_cast<std::uint32_t>(value));
  return out;
}
bytes operator+(bytes a, const bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
bytes raw_stream(const bytes& content) { return number(content.size()) + content; }
bytes zstd_stream(const bytes& content) {
  zp::codec_workspace scratch;
  bytes out(zp::zstd_codec{}.encoded_bound(content.size()));
  out.resize(zp::zstd_codec{}.encode(content, out, scratch).value());
  return raw_stream(out);
}

struct frame {
  blosc_header header;
  bytes body;                       ///< behind the list of blocks
  std::vector<std::size_t> starts;  ///< within the body

  bytes stored() const {
    blosc_header full = header;
    full.frame_size = full.body() + body.size();
    bytes out(blosc_header::size);
    full.write(out.data());
    for (const std::size_t start : starts) out = out + number(full.body() + start);
    return out + body;
  }
};

zp::result<bytes> decoded(const bytes& stored, std::size_t room) {
  zp::codec_workspace scratch;
  guarded_bytes out(room);
  const auto size = zp::blosc_codec{}.decode(stored, out.bytes(), scratch);
  REQUIRE(out.intact());
  if (!size) return size.failure();
  return copy_of(out.bytes().first(*size));
}

bytes sample(std::size_t size) {
  random_source random(size);
  bytes out = random_bytes(random, size);
  for (std::size_t i = 0; i < size; i += 2) out[i] &= std::byte{3};
  return out;
}
bytes shuffled(const bytes& from, std::size_t type_size) {
  bytes out(from.size());
  zp::detail::byte_shuffle(out, from, type_size);
  return out;
}
bytes part(const bytes& from, std::size_t at, std::size_t size) {
  return copy_of(zp::bytes_view(from).subspan(at, size));
}

blosc_header header_of(std::size_t size, std::size_t block_size, unsigned flags) {
  blosc_header out;
  out.format = blosc_format::zstd;
  out.flags = flags;
  out.type_size = 2;
  out.bytes = size;
  out.block_size = block_size;
  return out;
}

}  // namespace

TEST_CASE("blosc_decode: zstd split into its planes, one of them raw") {
  const bytes values = sample(2000);
  const bytes planes = shuffled(values, 2);
  frame made{header_of(2000, 2000, blosc_header::byte_shuffle), {}, {0}};
  made.body = zstd_stream(part(planes, 0, 1000)) + raw_stream(part(planes, 1000, 1000));
  CHECK(decoded(made.stored(), 2000).value() == values);
  // The same without shuffle: the streams are then the halves of the block.
  made.header.flags = 0;
  CHECK(decoded(made.stored(), 2000).value() == planes);
  // A stream too short, too long, or with a length beyond the frame.
  made.body = zstd_stream(part(planes, 0, 999)) + raw_stream(part(planes, 1000, 1000));
  CHECK(decoded(made.stored(), 2000).failure().code == zp::errc::corrupt);
  made.body = zstd_stream(part(planes, 0, 1001)) + raw_stream(part(planes, 1000, 1000));
  CHECK(decoded(made.stored(), 2000).failure().code == zp::errc::corrupt);
  made.body = number(1u << 31) + bytes(1000);
  CHECK(decoded(made.stored(), 2000).failure().code == zp::errc::corrupt);
  made.body = number(0);
  CHECK(decoded(made.stored(), 2000).failure().code == zp::errc::corrupt);
  made.body = bytes(3);
  CHECK(decoded(made.stored(), 2000).failure().code == zp::errc::corrupt);
}

TEST_CASE("blosc_decode: blocks in any order, with gaps, the short last one not split") {
  const bytes values = sample(5001);
  frame made{header_of(5001, 2000, blosc_header::byte_shuffle), {}, {0, 0, 0}};
  for (const std::size_t i : {2u, 0u, 1u}) {
    made.starts[i] = made.body.size();
    const std::size_t size = std::min<std::size_t>(2000, 5001 - i * 2000);
    const bytes block = shuffled(part(values, i * 2000, size), 2);
    if (i == 2) {
      made.body = made.body + zstd_stream(block);
    } else {
      made.body =
          made.body + zstd_stream(part(block, 0, 1000)) + raw_stream(part(block, 1000, 1000));
    }
    made.body = made.body + bytes(7, std::byte{0xcc});
  }
  CHECK(decoded(made.stored(), 5001).value() == values);
  CHECK(decoded(made.stored(), 6000).value() == values);
  CHECK(decoded(made.stored(), 5000).failure().code == zp::errc::out_of_range);

  const auto code_with_start = [&](std::size_t start) {
    frame bad = made;
    bad.starts[1] = start;
    const auto status = decoded(bad.stored(), 5001);
    REQUIRE_FALSE(status);
    CHECK(status.failure().message.find("block 1") != std::string::npos);
    return status.failure().code;
  };
  CHECK(code_with_start(made.body.size()) == zp::errc::corrupt);
  CHECK(code_with_start(made.body.size() - 3) == zp::errc::corrupt);
  CHECK(code_with_start(made.body.size() + 1) == zp::errc::corrupt);
  CHECK(code_with_start(SIZE_MAX) == zp::errc::corrupt);  // in the list
  CHECK(code_with_start(std::size_t{0xfffffff0}) == zp::errc::corrupt);
}

TEST_CASE("blosc_decode: elements of any size, and blocks that do not divide") {
  for (const std::size_t type_size : {1u, 3u, 16u, 17u, 255u}) {
    const bytes values = sample(5000);
    blosc_header header =
        header_of(5000, 5000, blosc_header::byte_shuffle | blosc_header::not_split);
    header.type_size = type_size;
    const frame made{header, zstd_stream(shuffled(values, type_size)), {0}};
    CHECK(decoded(made.stored(), 5000).value() == values);
  }
  // 5001 bytes cannot be two streams of equal size.
  const frame odd{header_of(5001, 5001, blosc_header::byte_shuffle),
                  raw_stream(bytes(2500)) + raw_stream(bytes(2501)),
                  {0}};
  CHECK(decoded(odd.stored(), 5001).failure().code == zp::errc::corrupt);
}

TEST_CASE("blosc_decode: bits, of whole groups of eight and of others") {
  for (const std::size_t size : {2000u, 2002u}) {
    const bytes values = sample(size);
    bytes sorted(size);
    zp::detail::bit_shuffle(sorted, values, 2);
    CHECK((sorted == values) == (size == 2002));
    const frame made{header_of(size, size, blosc_header::bit_shuffle | blosc_header::not_split),
                     zstd_stream(sorted),
                     {0}};
    CHECK(decoded(made.stored(), size).value() == values);
  }
}

TEST_CASE("blosc_decode: a few bytes that claim to be many take no memory") {
  frame made{
      header_of(0x7fffffef, 0x2aaaa900, blosc_header::byte_shuffle), bytes(100), {0, 0, 0, 0}};
  CHECK(decoded(made.stored(), 1000).failure().code == zp::errc::out_of_range);
}

}  // namespace blosc_decode_test
