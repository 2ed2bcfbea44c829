// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/blosc/huffman_decode.hpp>
#include <zarrpoint/codec/blosc/huffman_encode.hpp>

#include "support/huffman_cases.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <numeric>
#include <vector>

namespace huffman_encode_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::detail::byte_counts;
using zp::detail::huffman_code;
using zp::detail::huffman_kernel;
using zp::detail::huffman_stream;
using bytes = std::vector<std::byte>;

namespace {

/// What a kernel makes of the parts; nothing outside of their room is written.
std::vector<bytes> encoded(const huffman_code& code, const std::vector<zp::bytes_view>& parts,
                           huffman_kernel kernel) {
  std::vector<std::unique_ptr<guarded_bytes>> room;
  std::vector<huffman_stream> streams;
  for (const zp::bytes_view part : parts) {
    room.push_back(std::make_unique<guarded_bytes>(huffman_stream::margin +
                                                   huffman_stream::bound(part.size())));
    streams.push_back({part, room.back()->bytes().data() + huffman_stream::margin, 0});
  }
  encode_streams(code, streams.data(), streams.size(), kernel);
  std::vector<bytes> out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    REQUIRE(room[i]->intact());
    REQUIRE(streams[i].size <= huffman_stream::bound(parts[i].size()));
    out.emplace_back(streams[i].to, streams[i].to + streams[i].size);
  }
  return out;
}

/// By the definition, bit by bit (RFC 8878, 4.2.2).
bytes by_definition(const huffman_code& code, zp::bytes_view from) {
  std::vector<bool> bits;
  for (std::size_t i = from.size(); i-- > 0;) {
    const auto symbol = std::to_integer<std::size_t>(from[i]);
    for (unsigned k = 0; k < code.lengths[symbol]; ++k)
      bits.push_back((code.codes[symbol] >> k & 1) != 0);
  }
  bits.push_back(true);
  bytes out((bits.size() + 7) / 8);
  for (std::size_t i = 0; i < bits.size(); ++i)
    if (bits[i]) out[i / 8] |= std::byte{1} << i % 8;
  return out;
}

}  // namespace

TEST_CASE("huffman_encode: streams of every length, the same by all kernels") {
  random_source random(3);
  std::vector<byte_counts> histograms = huffman_histograms(random);
  std::shuffle(histograms.begin(), histograms.end(), random);
  std::size_t next = 0;
  std::vector<std::size_t> sizes(200);
  std::iota(sizes.begin(), sizes.end(), 1);
  for (const std::size_t size : {256u, 511u, 512u, 513u, 575u, 1000u, 1024u, 5000u, 32'768u})
    sizes.push_back(size);
  for (const std::size_t size : sizes) {
    CAPTURE(size);
    const byte_counts& counts = histograms[next++ % histograms.size()];
    const huffman_code code = huffman_code::of(counts);
    const bytes from =
        bytes_like(counts, 4 * size - pick(random, std::min<std::size_t>(4, size)), random);
    std::vector<zp::bytes_view> parts;
    for (std::size_t i = 0; i < 4; ++i)
      parts.push_back(
          zp::bytes_view(from).subspan(i * size, std::min(size, from.size() - i * size)));
    std::vector<bytes> expected;
    for (const zp::bytes_view part : parts) expected.push_back(by_definition(code, part));
    for (const huffman_kernel kernel : huffman_kernels()) {
      CAPTURE(static_cast<int>(kernel));
      REQUIRE(encoded(code, parts, kernel) == expected);
      REQUIRE(encoded(code, {parts[3]}, kernel).front() == expected[3]);
    }
  }
}

TEST_CASE("huffman_encode: the longest codes, one beside the other") {
  byte_counts counts{};
  for (std::size_t i = 0; i < 256; ++i)
    counts[i] = i < 128 ? 1 : 1U << std::min<std::size_t>(i - 128, 16);
  const huffman_code code = huffman_code::of(counts);
  REQUIRE(code.bits == 11);
  bytes from;
  for (std::size_t i = 0; i < 4096; ++i) from.push_back(static_cast<std::byte>(i % 128));
  const bytes expected = by_definition(code, from);
  CHECK(expected.size() == 4096 * 11 / 8 + 1);
  for (const huffman_kernel kernel : huffman_kernels())
    CHECK(encoded(code, {from}, kernel).front() == expected);
}

}  // namespace huffman_encode_test
