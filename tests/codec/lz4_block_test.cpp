// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/kit/lz_blocks.hpp>

#include "support/codec_conformance.hpp"
#include "support/page_end.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace lz4_block_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

using bytes = std::vector<std::byte>;

bytes hex(std::string_view digits) {
  bytes out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    out.push_back(static_cast<std::byte>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  return out;
}

zp::result<bytes> decoded(const bytes& block, std::size_t room) {
  guarded_bytes out(room);
  const zp::result<std::size_t> size = zp::detail::lz4_decode(page_end(block).bytes(), out.bytes());
  REQUIRE(out.intact());
  if (!size) return size.failure();
  return copy_of(out.bytes().first(*size));
}

zp::errc code_of(std::string_view digits, std::size_t room) {
  const zp::result<bytes> result = decoded(hex(digits), room);
  REQUIRE_FALSE(result);
  return result.failure().code;
}

bytes encoded(const bytes& from) {
  zp::codec_workspace scratch;
  bytes out(zp::detail::lz4_bound(from.size()));
  out.resize(zp::detail::lz4_encode(from, out, scratch).value());
  return out;
}

/// A repeating text with noise in it: matches of every length and distance.
bytes mixed(random_source& random, std::size_t size) {
  bytes out;
  while (out.size() < size) {
    const std::size_t run = pick(random, 40);
    if (out.size() > 10 && pick(random, 3) != 0) {
      const std::size_t distance = 1 + pick(random, std::min<std::size_t>(out.size(), 70'000));
      for (std::size_t i = 0; i < run * run / 4; ++i) out.push_back(out[out.size() - distance]);
    } else {
      const bytes noise = random_bytes(random, run);
      out.insert(out.end(), noise.begin(), noise.end());
    }
  }
  out.resize(size);
  return out;
}

}  // namespace

TEST_CASE("lz4_block: blocks that lz4 1.9.4 made") {
  bytes letters(300);
  bytes squares(300);
  for (std::size_t i = 0; i < 300; ++i) {
    letters[i] = static_cast<std::byte>("abcdefgh"[i % 8]);
    squares[i] = static_cast<std::byte>(i * i % 23 + 65);
  }
  CHECK(decoded(hex("8f61626364656667680800ff0d506861626364"), 300).value() == letters);
  CHECK(decoded(hex("ff084142454a51434e44534d494747494d53444e43514a45421700fd50514a454241"), 300)
            .value() == squares);
  CHECK(decoded(hex("00"), 0).value().empty());
}

TEST_CASE("lz4_block: what is not a block") {
  CHECK(code_of("", 10) == zp::errc::corrupt);
  CHECK(code_of("50616263", 10) == zp::errc::corrupt);        // literals cut
  CHECK(code_of("f0", 100) == zp::errc::corrupt);             // a length cut
  CHECK(code_of("f0ffff", 100) == zp::errc::corrupt);         // the same later
  CHECK(code_of("106101", 10) == zp::errc::corrupt);          // half a distance
  CHECK(code_of("1061010000", 4) == zp::errc::out_of_range);  // a match of four, and no more
  CHECK(code_of("10610100", 4) == zp::errc::out_of_range);    // told before what is missing
  CHECK(code_of("1f610100ff", 10) == zp::errc::corrupt);      // its length is not known
  CHECK(code_of("1061000000", 10) == zp::errc::corrupt);      // distance 0
  CHECK(code_of("1061020000", 10) == zp::errc::corrupt);      // before the beginning
  CHECK(code_of("1f6101", 10) == zp::errc::corrupt);          // no length
  CHECK(code_of("1f610100ff", 1000) == zp::errc::corrupt);    // nor its end
  CHECK(code_of("10610100", 10) == zp::errc::corrupt);        // nothing after a match
  CHECK(decoded(hex("1061010000"), 9).value() == bytes(5, std::byte{0x61}));
}

TEST_CASE("lz4_block: what is encoded is decoded, in exactly the room that it needs") {
  random_source random(7);
  std::vector<bytes> payloads = conformance_payloads();
  for (const std::size_t size :
       {5u, 11u, 12u, 13u, 14u, 20u, 270u, 271u, 4096u, 100'000u, 400'000u})
    for (int i = 0; i < 4; ++i) payloads.push_back(mixed(random, size));
  for (const bytes& payload : payloads) {
    CAPTURE(payload.size());
    const bytes block = encoded(payload);
    REQUIRE(block.size() <= zp::detail::lz4_bound(payload.size()));
    REQUIRE(decoded(block, payload.size()).value() == payload);
    REQUIRE(decoded(block, payload.size() + 100).value() == payload);
    if (!payload.empty())
      REQUIRE(decoded(block, payload.size() - 1).failure().code == zp::errc::out_of_range);
    zp::codec_workspace scratch;
    for (const std::size_t less : {std::size_t{0}, std::size_t{1}, block.size() / 2}) {
      guarded_bytes room(block.size() - less);
      const auto status = zp::detail::lz4_encode(payload, room.bytes(), scratch);
      REQUIRE(room.intact());
      if (less == 0) {
        REQUIRE(copy_of(room.bytes()) == block);
      } else {
        REQUIRE(status.failure().code == zp::errc::out_of_range);
      }
    }
    guarded_bytes out(payload.size());
    for_each_damage(block, [&](const bytes& damaged) {
      const auto size = zp::detail::lz4_decode(damaged, out.bytes());
      if (size && damaged.size() < block.size()) REQUIRE(*size < payload.size());
    });
    REQUIRE(out.intact());
  }
}

TEST_CASE("lz4_block: repetitions are found, also far back, and noise costs next to nothing") {
  CHECK(encoded(bytes(1'000'000)).size() < 4000);
  random_source random(8);
  bytes twice = random_bytes(random, 60'000);
  const bytes noise = twice;
  twice.insert(twice.end(), noise.begin(), noise.end());
  CHECK(encoded(twice).size() < 61'000);
  CHECK(encoded(noise).size() < 60'300);
}

TEST_CASE("lz4_block: memory comes from the workspace") {
  zp::limited_resource budget(1000);
  zp::codec_workspace scratch(budget);
  bytes out(200);
  CHECK(zp::detail::lz4_encode(bytes(100), out, scratch).failure().code ==
        zp::errc::resource_limit);
}

}  // namespace lz4_block_test
