// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/delta.hpp>

#include "support/codec_conformance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace difference_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

using bytes = std::vector<std::byte>;

bytes encoded(const bytes& base, const bytes& result, std::size_t word) {
  zp::codec_workspace scratch;
  bytes out(result.size() + 1);
  out.resize(zp::detail::encode_difference({base, result, word}, out, scratch).value());
  return out;
}

zp::result<bytes> applied(const bytes& stored, bytes elements, std::size_t word) {
  zp::codec_workspace scratch;
  ZARRPOINT_CHECK(zp::detail::apply_difference(stored, elements, word, scratch));
  return elements;
}

bytes random_bytes(std::size_t size, std::mt19937_64& random) {
  bytes out(size);
  for (std::byte& one : out) one = static_cast<std::byte>(random());
  return out;
}

/// Some words of `base` are a little larger, or anything.
bytes changed(const bytes& base, std::size_t word, double share, std::mt19937_64& random) {
  bytes out = base;
  for (std::size_t at = 0; at + word <= out.size(); at += word) {
    if (std::uniform_real_distribution<>()(random) >= share) continue;
    if (random() % 8 == 0) {
      for (std::size_t i = 0; i < word; ++i) out[at + i] = static_cast<std::byte>(random());
    } else {
      std::uint64_t value = 0;
      std::memcpy(&value, &out[at], word);
      value += random() % 5 - 2;
      std::memcpy(&out[at], &value, word);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("difference_codec: conformance") { codec_conformance(zp::difference_codec{}); }

TEST_CASE("difference: the result comes back, whatever changed") {
  std::mt19937_64 random(7);
  for (const std::size_t word : {1U, 2U, 4U, 8U}) {
    for (const double share : {0.0, 0.0005, 0.01, 0.2, 0.7, 1.0}) {
      for (const std::size_t words : {0U, 1U, 31U, 32U, 33U, 4096U, 70001U}) {
        const bytes base = random_bytes(words * word, random);
        const bytes result = changed(base, word, share, random);
        const bytes stored = encoded(base, result, word);
        CHECK(stored.size() <= result.size() + 1);
        CHECK(applied(stored, base, word).value() == result);
      }
    }
  }
}

TEST_CASE("difference: extremes of words, and places far apart") {
  for (const std::size_t word : {1U, 2U, 4U, 8U}) {
    bytes base(300'000 * word);
    bytes result = base;
    const auto set = [&](std::size_t at, std::uint64_t value) {
      std::memcpy(&result[at * word], &value, word);
    };
    set(0, ~std::uint64_t{0});
    set(1, std::uint64_t{1} << (8 * word - 1));
    set(2, (std::uint64_t{1} << (8 * word - 1)) - 1);
    set(200'000, 192);
    set(299'999, 1);
    CHECK(applied(encoded(base, result, word), base, word).value() == result);
    CHECK(applied(encoded(result, base, word), result, word).value() == base);
  }
}

TEST_CASE("difference: near the entropy of places and values") {
  // 16-bit weights; a fraction moves by 1 or 2 units, 4 : 1.
  std::mt19937_64 random(41);
  for (const double share : {0.001, 0.01, 0.05, 0.2}) {
    constexpr std::size_t words = std::size_t{1} << 19;
    const bytes base = random_bytes(2 * words, random);
    bytes result = base;
    std::size_t moved = 0;
    for (std::size_t i = 0; i < words; ++i) {
      if (std::uniform_real_distribution<>()(random) >= share) continue;
      std::uint16_t value = 0;
      std::memcpy(&value, &result[2 * i], 2);
      const int step = random() % 5 == 0 ? 2 : 1;
      value = static_cast<std::uint16_t>(value + (random() % 2 == 0 ? step : -step));
      std::memcpy(&result[2 * i], &value, 2);
      ++moved;
    }
    const double p = static_cast<double>(moved) / static_cast<double>(words);
    const double places = -p * std::log2(p) - (1 - p) * std::log2(1 - p);
    const double values = p * (1 - 0.8 * std::log2(0.8) - 0.2 * std::log2(0.2));
    const double bound = (places + values) * static_cast<double>(words) / 8;
    const double ratio = static_cast<double>(encoded(base, result, 2).size()) / bound;
    MESSAGE("share " << share << ": " << ratio << " of the bound");
    CHECK(ratio <= 1.25);
  }
}

TEST_CASE("difference: what did not change takes five bytes") {
  std::mt19937_64 random(3);
  const bytes base = random_bytes(4096, random);
  const bytes stored = encoded(base, base, 2);
  CHECK(stored.size() == 5);
  CHECK(zp::detail::read_difference_head(stored)->base_crc == zp::crc32c(base));
}

TEST_CASE("difference: damaged bytes are refused or change words alone") {
  std::mt19937_64 random(11);
  const bytes base = random_bytes(2 * 20'000, random);
  const bytes stored = encoded(base, changed(base, 2, 0.05, random), 2);
  constexpr std::size_t guard = 64;
  for (int i = 0; i < 4000; ++i) {
    bytes bad = stored;
    const std::size_t at =
        i < 200 ? static_cast<std::size_t>(i) % bad.size() : random() % bad.size();
    bad[at] ^= static_cast<std::byte>(1U << random() % 8);
    if (random() % 4 == 0) bad.resize(random() % bad.size());
    bytes room(base.size() + guard, std::byte{0x5a});
    std::copy(base.begin(), base.end(), room.begin());
    zp::codec_workspace scratch;
    const auto done =
        zp::detail::apply_difference(bad, std::span(room).first(base.size()), 2, scratch);
    if (!done) CHECK(done.failure().code == zp::errc::corrupt);
    CHECK(std::all_of(room.end() - guard, room.end(),
                      [](std::byte b) { return b == std::byte{0x5a}; }));
  }
}

TEST_CASE("difference: a payload is refused where it cannot be one") {
  const bytes base(64);
  const auto refused = [&](std::initializer_list<int> numbers) {
    bytes stored;
    for (const int one : numbers) stored.push_back(static_cast<std::byte>(one));
    const auto done = applied(stored, base, 2);
    REQUIRE(!done);
    CHECK(done.failure().code == zp::errc::corrupt);
  };
  refused({});
  refused({2});
  refused({1, 0, 0, 0});
  refused({0, 1, 2});                                      // whole, and too short
  refused({1, 0, 0, 0, 0, 0});                             // no change in a group
  refused({1, 0, 0, 0, 0, 0x81, 0x80, 0x81, 0x80, 0x80});  // too many
  refused({1, 0, 0, 0, 0, 1, 4, 32, 4, 0, 0});             // behind the last word
  refused({1, 0, 0, 0, 0, 1, 4, 250, 4, 0, 0});            // more bits than there are
  refused({1, 0, 0, 0, 0, 1, 4, 0, 4, 0, 1, 0});           // bits that nothing needs
  refused({1, 0, 0, 0, 0, 1, 4, 0, 7, 0, 0});              // an unknown stream
}

TEST_CASE("difference_codec: what needs a base is not decoded without one") {
  zp::codec_workspace scratch;
  const bytes base(64);
  bytes result = base;
  result[6] = std::byte{1};
  const bytes stored = encoded(base, result, 2);
  bytes room(64);
  const auto done = zp::difference_codec{}.decode(
      stored, zp::dense_view(room.data(), {zp::dtype_kind::uint16, {32}}), scratch);
  REQUIRE(!done);
  CHECK(done.failure().code == zp::errc::unsupported);
  CHECK(done.failure().message.find("zarrpoint/delta.hpp") != std::string::npos);
}

}  // namespace difference_test
