// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/blosc/zstd_literals.hpp>
#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>

#include "support/codec_conformance.hpp"
#include "support/libzstd_literals.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

namespace zstd_literals_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::detail::decode_zstd_literals;
using bytes = std::vector<std::byte>;

namespace {

bytes of_distribution(random_source& random, std::size_t size, double p) {
  std::geometric_distribution<int> distribution(p);
  bytes out(size);
  for (std::byte& one : out) one = static_cast<std::byte>(distribution(random) & 255);
  return out;
}

bool is_decoded(const bytes& frame, const bytes& expected) {
  zp::codec_workspace scratch;
  guarded_bytes out(expected.size());
  const bool done = decode_zstd_literals(frame, out.bytes(), scratch);
  REQUIRE(out.intact());
  if (done) REQUIRE(copy_of(out.bytes()) == expected);
  return done;
}

}  // namespace

TEST_CASE("zstd_literals: frames of Huffman codes, by libzstd") {
  random_source random(3);
  for (const std::size_t size : {4096u, 5000u, 65'536u, 131'072u, 131'073u, 300'001u}) {
    for (const double p : {0.02, 0.05, 0.2, 0.5, 0.9}) {
      CAPTURE(size);
      CAPTURE(p);
      const bytes values = of_distribution(random, size, p);
      CHECK(is_decoded(literals_by_libzstd(values), values));
    }
  }
  // Blocks that are raw, and blocks of one byte.
  bytes mixed = random_bytes(random, 131'072);
  mixed.resize(2 * 131'072, std::byte{7});
  const bytes more = of_distribution(random, 100'000, 0.3);
  mixed.insert(mixed.end(), more.begin(), more.end());
  CHECK(is_decoded(literals_by_libzstd(mixed), mixed));
}

TEST_CASE("zstd_literals: what is not for it is left to libzstd") {
  random_source random(4);
  zp::codec_workspace scratch;
  const bytes values = of_distribution(random, 20'000, 0.3);
  const auto by_zstd = [&](const bytes& from, zp::zstd_codec codec) {
    bytes out(codec.encoded_bound(from.size()));
    out.resize(codec.encode(from, out, scratch).value());
    return out;
  };
  bytes twice = values;
  twice.insert(twice.end(), values.begin(), values.end());
  CHECK_FALSE(is_decoded(by_zstd(twice, {.level = 3}), twice));  // matches
  CHECK_FALSE(is_decoded(by_zstd(values, {.level = -7, .checksum = true}), values));
  const bytes few = of_distribution(random, 4000, 0.3);
  CHECK_FALSE(is_decoded(literals_by_libzstd(few), few));
  CHECK_FALSE(is_decoded({}, values));
  const bytes frame = literals_by_libzstd(values);
  bytes longer = frame;
  longer.push_back({});
  CHECK_FALSE(is_decoded(longer, values));
  bytes out(values.size() + 1);
  CHECK_FALSE(decode_zstd_literals(frame, out, scratch));
  CHECK_FALSE(
      decode_zstd_literals(frame, zp::mutable_bytes(out).first(values.size() - 1), scratch));
  zp::limited_resource budget(1000);
  zp::codec_workspace poor(budget);
  CHECK_FALSE(decode_zstd_literals(frame, zp::mutable_bytes(out).first(values.size()), poor));
}

TEST_CASE(
    "zstd_literals: of damaged frames it takes none that libzstd refuses, nor reads another way") {
  random_source random(5);
  zp::codec_workspace scratch;
  std::size_t taken = 0;
  for (const double p : {0.1, 0.6}) {
    const bytes values = of_distribution(random, 6000, p);
    const bytes frame = literals_by_libzstd(values);
    guarded_bytes ours(values.size());
    bytes theirs(values.size());
    const auto compare = [&](const bytes& damaged) {
      const bool done = decode_zstd_literals(damaged, ours.bytes(), scratch);
      REQUIRE(ours.intact());
      if (!done) return;
      ++taken;
      REQUIRE(zp::zstd_codec{}.decode(damaged, theirs, scratch).value() == values.size());
      REQUIRE(copy_of(ours.bytes()) == theirs);
    };
    for_each_damage(frame, compare);
    for (std::size_t i = 0; i < 4000; ++i) {
      bytes damaged = frame;
      damaged[pick(random, std::min<std::size_t>(frame.size(), 60))] =
          static_cast<std::byte>(random());
      compare(damaged);
    }
  }
  CHECK(taken > 0);  // some damage only makes other symbols
}

}  // namespace zstd_literals_test
