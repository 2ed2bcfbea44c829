// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/blosc/blosc.hpp>
#include <zarrpoint/codec/blosc/blosc_encode.hpp>

#include "support/lz_stream_cases.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace blosc_encode_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::detail::blosc_format;
using zp::detail::blosc_header;
using zp::detail::blosc_options;
using bytes = std::vector<std::byte>;

namespace {

/// Weights: the upper half of float32 numbers of a normal distribution.
bytes weights(std::size_t count) {
  random_source random(9);
  std::normal_distribution<float> normal(0, 0.02f);
  bytes out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(normal(random));
    out.push_back(static_cast<std::byte>(bits >> 16 & 255));
    out.push_back(static_cast<std::byte>(bits >> 24));
  }
  return out;
}

bytes encoded(const bytes& from, zp::blosc_codec codec) {
  zp::codec_workspace scratch;
  bytes out(codec.encoded_bound(from.size()));
  out.resize(codec.encode(from, out, scratch).value());
  bytes back(from.size());
  REQUIRE(codec.decode(out, back, scratch).value() == from.size());
  REQUIRE(back == from);
  return out;
}
blosc_header header_of(const bytes& stored) { return blosc_header::parse(stored).value(); }

constexpr zp::blosc_codec two_bytes{
    {.level = 1, .shuffle = zp::blosc_shuffle::bytes, .type_size = 2}};

std::uint32_t number_at(const bytes& from, std::size_t at) {
  return zp::load_le<std::uint32_t>(from.data() + at);
}

}  // namespace

TEST_CASE("blosc_encode: sizes of blocks") {
  const auto chosen = [](std::size_t bytes, std::size_t type_size, std::size_t asked) {
    blosc_options how;
    how.type_size = type_size;
    how.block_size = asked;
    return zp::detail::blosc_block_size(how, bytes);
  };
  // A chunk of up to 2 MiB is one block, and at most some bytes behind the last element.
  CHECK(chosen(1 << 20, 2, 0) == 1 << 20);
  CHECK(chosen(2 << 20, 2, 0) == 2 << 20);
  CHECK(chosen(1003, 4, 0) == 1000);
  CHECK(chosen(1003, 1, 0) == 1003);
  CHECK(chosen(200, 255, 0) == 200);
  CHECK(chosen(16 << 20, 2, 0) == 1 << 20);
  CHECK(chosen(10'000'000, 8, 0) == 1'000'000);
  // What is asked for, within reason: whole elements, not more than there are.
  CHECK(chosen(1 << 20, 2, 4096) == 4096);
  CHECK(chosen(1 << 20, 3, 4096) == 4095);
  CHECK(chosen(1 << 20, 2, 1) == 128);
  CHECK(chosen(1000, 2, 5000) == 1000);
  CHECK(chosen(100, 2, 5) == 100);
  CHECK(chosen(1 << 20, 255, 128) == 128);
  CHECK(chosen(0x7fffffef, 2, 0x7fffffff) == 715'827'542);
}

TEST_CASE("blosc_encode: weights, split into planes, noise raw") {
  const bytes values = weights(1 << 16);
  const bytes stored = encoded(values, two_bytes);
  const blosc_header header = header_of(stored);
  CHECK(header.format == blosc_format::zstd);
  CHECK(header.flags == blosc_header::byte_shuffle);  // and so split
  CHECK(header.type_size == 2);
  CHECK(header.block_size == values.size());
  CHECK(number_at(stored, 16) == 20);
  const std::size_t plane = values.size() / 2;
  REQUIRE(number_at(stored, 20) == plane);  // as it is
  for (std::size_t i = 0; i < plane; ++i) REQUIRE(stored[24 + i] == values[2 * i]);
  CHECK(number_at(stored, 24 + plane) < plane / 2);
  CHECK(stored.size() == 28 + plane + number_at(stored, 24 + plane));
}

TEST_CASE("blosc_encode: planes of noise and others, in any order") {
  random_source random(11);
  std::geometric_distribution<int> few(0.4);
  constexpr std::size_t count = 6000;
  constexpr std::size_t planes = 4;
  zp::codec_workspace scratch;
  for (unsigned noisy = 0; noisy < 1U << planes; ++noisy) {
    CAPTURE(noisy);
    bytes values(count * planes);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool is_noise = (noisy >> i % planes & 1) != 0;
      values[i] = static_cast<std::byte>(is_noise ? random() & 255
                                                  : static_cast<unsigned>(few(random)) & 255);
    }
    zp::blosc_codec codec = two_bytes;
    codec.type_size = planes;
    const bytes stored = encoded(values, codec);
    if (noisy == (1U << planes) - 1) {
      CHECK(header_of(stored).has(blosc_header::stored));
      continue;
    }
    std::size_t at = 20;
    for (std::size_t j = 0; j < planes; ++j) {
      const bool is_raw = number_at(stored, at) == count;
      REQUIRE(is_raw == ((noisy >> j & 1) != 0));
      for (std::size_t i = 0; is_raw && i < count; ++i)
        REQUIRE(stored[at + 4 + i] == values[planes * i + j]);
      at += 4 + number_at(stored, at);
    }
    CHECK(at == stored.size());
    for (std::size_t room = stored.size() - 1; room > 0; room -= std::min<std::size_t>(room, 997)) {
      guarded_bytes out(room);
      REQUIRE_FALSE(codec.encode(values, out.bytes(), scratch));
      REQUIRE(out.intact());
    }
  }
}

TEST_CASE("blosc_encode: several blocks and a short last one") {
  bytes values = weights(5000);
  values.push_back(std::byte{1});
  zp::blosc_codec codec = two_bytes;
  codec.block_size = 4096;
  const blosc_header header = header_of(encoded(values, codec));
  CHECK(header.block_size == 4096);
  CHECK(header.block_count() == 3);
  CHECK(header.bytes == 10'001);
  codec.block_size = 0;
  CHECK(header_of(encoded(values, codec)).block_size == 10'000);
  CHECK(header_of(encoded(weights(3 << 20), two_bytes)).block_count() == 6);
}

TEST_CASE("blosc_encode: what is split, by format and shuffle") {
  using zp::blosc_compressor;
  using zp::blosc_shuffle;
  const bytes values = weights(4096);
  const auto is_split = [&](blosc_compressor compressor, blosc_shuffle shuffle, std::size_t size) {
    const zp::blosc_codec codec{
        {.compressor = compressor, .level = 1, .shuffle = shuffle, .type_size = size}};
    const blosc_header header = header_of(encoded(values, codec));
    REQUIRE_FALSE(header.has(blosc_header::stored));
    return header.streams(header.block_size) > 1;
  };
  CHECK(is_split(blosc_compressor::zstd, blosc_shuffle::bytes, 2));
  CHECK(is_split(blosc_compressor::zstd, blosc_shuffle::bits, 2));
  CHECK_FALSE(is_split(blosc_compressor::zstd, blosc_shuffle::none, 2));
  CHECK(is_split(blosc_compressor::lz4, blosc_shuffle::bytes, 2));
  CHECK_FALSE(is_split(blosc_compressor::zstd, blosc_shuffle::bytes, 64));
  CHECK(header_of(encoded(values, {{.shuffle = blosc_shuffle::bytes, .type_size = 32}}))
            .has(blosc_header::not_split));
}

TEST_CASE("blosc_encode: stored, when nothing is gained") {
  random_source random(4);
  const bytes noise = random_bytes(random, 10'000);
  const auto is_stored = [](const bytes& values, zp::blosc_codec codec) {
    const bytes stored = encoded(values, codec);
    return stored.size() == 16 + values.size() && header_of(stored).has(blosc_header::stored);
  };
  CHECK(is_stored(noise, two_bytes));
  CHECK(is_stored(bytes(127), two_bytes));  // as c-blosc does it with little
  CHECK_FALSE(is_stored(bytes(200), two_bytes));
  CHECK(is_stored({}, two_bytes));
  zp::blosc_codec codec = two_bytes;
  codec.level = 0;
  CHECK(is_stored(bytes(10'000), codec));
  for (const auto compressor : {zp::blosc_compressor::blosclz, zp::blosc_compressor::snappy}) {
    codec = two_bytes;
    codec.compressor = compressor;
    CHECK(is_stored(bytes(10'000), codec));
  }
  codec = two_bytes;
  codec.compressor = zp::blosc_compressor::lz4hc;
  CHECK(header_of(encoded(bytes(10'000), codec)).format == blosc_format::lz4);
  CHECK_FALSE(is_stored(bytes(10'000), codec));
  // Elements above 255 bytes are told as bytes.
  codec = two_bytes;
  codec.type_size = 300;
  CHECK(header_of(encoded(weights(300), codec)).type_size == 1);
}

TEST_CASE("blosc_encode: writes no more than there is room for") {
  const bytes values = weights(5000);
  const bytes stored = encoded(values, two_bytes);
  zp::codec_workspace scratch;
  for (std::size_t room = 0; room < stored.size(); room += room < 200 ? 1 : 97) {
    guarded_bytes out(room);
    const auto size = two_bytes.encode(values, out.bytes(), scratch);
    CHECK(out.intact());
    REQUIRE_FALSE(size);
    CHECK(size.failure().code == zp::errc::out_of_range);
  }
}

}  // namespace blosc_encode_test
