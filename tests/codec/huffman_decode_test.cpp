// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/blosc/huffman_decode.hpp>

#include "support/codec_conformance.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

namespace huffman_decode_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::detail::huffman_decoder;
using zp::detail::huffman_weights;
using bytes = std::vector<std::byte>;

namespace {

/// A code by its weights, as the definition numbers it (RFC 8878, 4.2.1).
struct code {
  huffman_weights weights;
  std::vector<std::uint32_t> number = std::vector<std::uint32_t>(256);
  std::vector<unsigned> length = std::vector<unsigned>(256);

  explicit code(const std::vector<unsigned>& of) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < of.size(); ++i) {
      weights.of[i] = static_cast<std::uint8_t>(of[i]);
      sum += (1U << of[i]) >> 1;
    }
    weights.count = of.size();
    weights.bits = static_cast<unsigned>(std::bit_width(sum)) - 1;
    REQUIRE(std::has_single_bit(sum));
    std::uint32_t entry = 0;
    for (unsigned w = 1; w <= weights.bits; ++w) {
      for (std::size_t i = 0; i < of.size(); ++i) {
        if (of[i] != w) continue;
        length[i] = weights.bits + 1 - w;
        number[i] = entry >> (w - 1);
        entry += 1U << (w - 1);
      }
    }
  }

  /// Symbols last to first, then a bit that marks the end.
  bytes encode(zp::bytes_view from) const {
    std::vector<bool> bits;
    for (std::size_t i = from.size(); i-- > 0;) {
      const auto symbol = std::to_integer<std::size_t>(from[i]);
      for (unsigned k = 0; k < length[symbol]; ++k) bits.push_back((number[symbol] >> k & 1) != 0);
    }
    bits.push_back(true);
    bytes out((bits.size() + 7) / 8);
    for (std::size_t i = 0; i < bits.size(); ++i)
      if (bits[i]) out[i / 8] |= std::byte{1} << i % 8;
    return out;
  }

  /// Bytes that are as frequent as their codes are short.
  bytes sample(random_source& random, std::size_t size) const {
    std::vector<double> share;
    for (std::size_t i = 0; i < weights.count; ++i)
      share.push_back(weights.of[i] == 0 ? 0 : std::ldexp(1.0, weights.of[i]));
    std::discrete_distribution<int> pick_one(share.begin(), share.end());
    bytes out(size);
    for (std::byte& one : out) one = static_cast<std::byte>(pick_one(random));
    return out;
  }
};

std::vector<code> codes() {
  std::vector<code> out;
  out.emplace_back(std::vector<unsigned>{1, 1});           // one bit each
  out.emplace_back(std::vector<unsigned>{0, 2, 0, 1, 1});  // one bit and two
  out.emplace_back(std::vector<unsigned>(256, 1));         // eight bits each
  out.emplace_back(std::vector<unsigned>{3, 3, 2, 2, 1, 1, 1, 1});
  std::vector<unsigned> steep{1, 1};  // one to eleven bits
  for (unsigned w = 2; w <= 11; ++w) steep.push_back(w);
  out.emplace_back(steep);
  std::vector<unsigned> flat(100, 0);  // eleven bits, and two
  for (unsigned w : {10u, 10u, 10u}) flat.push_back(w);
  for (unsigned w = 9; w >= 1; --w) flat.push_back(w);
  flat.push_back(1);
  out.emplace_back(flat);
  return out;
}

template <std::size_t N>
std::array<zp::bytes_view, N> views(const std::array<bytes, N>& streams) {
  std::array<zp::bytes_view, N> out;
  for (std::size_t i = 0; i < N; ++i) out[i] = streams[i];
  return out;
}

}  // namespace

TEST_CASE("huffman_decode: one stream and four, of every length") {
  random_source random(6);
  const auto decoder = std::make_unique<huffman_decoder>();
  for (const code& one : codes()) {
    decoder->set(one.weights);
    for (const std::size_t size :
         {1u, 2u, 3u, 5u, 8u, 9u, 40u, 41u, 64u, 100u, 1000u, 5001u, 40'000u}) {
      CAPTURE(size);
      const bytes original = one.sample(random, size);
      guarded_bytes out(size);
      REQUIRE(decoder->decode<1>({one.encode(original)}, out.bytes()));
      REQUIRE(out.intact());
      REQUIRE(copy_of(out.bytes()) == original);

      const std::size_t each = (size + 3) / 4;
      if (3 * each >= size) continue;
      std::array<bytes, 4> streams;
      for (std::size_t i = 0; i < 4; ++i)
        streams[i] =
            one.encode(zp::bytes_view(original).subspan(i * each, i < 3 ? each : size - 3 * each));
      guarded_bytes again(size);
      REQUIRE(decoder->decode<4>(views(streams), again.bytes()));
      REQUIRE(again.intact());
      REQUIRE(copy_of(again.bytes()) == original);

      // Bits that are missing or left over are seen; whatever comes, it stays inside.
      for (int damage = 0; damage < 20; ++damage) {
        std::array<bytes, 4> bad = streams;
        bytes& victim = bad[pick(random, 4)];
        if (damage % 2 == 0) {
          victim.insert(victim.begin(), static_cast<std::byte>(random()));
          REQUIRE_FALSE(decoder->decode<4>(views(bad), again.bytes()));
        } else {
          victim[pick(random, victim.size())] ^= static_cast<std::byte>(1U << random() % 8);
          static_cast<void>(decoder->decode<4>(views(bad), again.bytes()));
        }
        REQUIRE(again.intact());
      }
    }
  }
}

TEST_CASE("huffman_decode: streams that are none, and parts of nothing") {
  const auto decoder = std::make_unique<huffman_decoder>();
  const code one(std::vector<unsigned>{1, 1});
  decoder->set(one.weights);
  bytes out(3);
  CHECK_FALSE(decoder->decode<1>({zp::bytes_view()}, out));
  CHECK_FALSE(decoder->decode<1>({bytes(4)}, out));  // no end
  CHECK_FALSE(decoder->decode<1>({one.encode(bytes(3))}, zp::mutable_bytes()));
  CHECK_FALSE(decoder->decode<1>({one.encode(bytes(2))}, out));
  CHECK_FALSE(decoder->decode<1>({one.encode(bytes(4))}, out));
  CHECK(decoder->decode<1>({one.encode(bytes(3))}, out));
  const bytes single = one.encode(bytes(1));
  CHECK_FALSE(decoder->decode<4>({single, single, single, single}, out));
}

}  // namespace huffman_decode_test
