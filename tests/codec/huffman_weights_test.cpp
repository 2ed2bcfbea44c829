// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/blosc/huffman_weights.hpp>

#include "support/lz_stream_cases.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace huffman_weights_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::detail::backward_bits;
using zp::detail::huffman_weights;
using zp::detail::read_huffman_weights;

namespace {

std::string weights_of(std::string_view digits) {
  const auto found = read_huffman_weights(from_hex(digits));
  if (!found) return "none";
  std::string out;
  for (std::size_t i = 0; i < found->count; ++i) out += std::to_string(found->of[i]) + ' ';
  return out + "in " + std::to_string(found->bits) + " bits, " + std::to_string(found->size) +
         " bytes";
}

}  // namespace

TEST_CASE("huffman_weights: bits from the end of a stream") {
  backward_bits bits;
  const auto stream = from_hex("a5c31b");  // 00011011 11000011 10100101: behind the first 1
  REQUIRE(bits.open(stream));
  CHECK(bits.left() == 20);
  CHECK(bits.peek(3) == 5);
  CHECK(bits.take(4) == 11);
  CHECK(bits.take(0) == 0);
  CHECK(bits.take(11) == 0x61d);
  CHECK(bits.left() == 5);
  CHECK(bits.peek(8) == 5 << 3);  // zeros follow
  CHECK(bits.take(5) == 5);
  CHECK(bits.left() == 0);
  CHECK(bits.take(11) == 0);
  CHECK(bits.left() == -11);
  bits.skip_to(20);
  CHECK(bits.take(16) == 0xbc3a);
  CHECK_FALSE(bits.open({}));
  const auto without_end = from_hex("0100");
  CHECK_FALSE(bits.open(without_end));
  const auto empty = from_hex("01");
  REQUIRE(bits.open(empty));
  CHECK(bits.left() == 0);
}

TEST_CASE("huffman_weights: four bits each, and the last one by what is missing") {
  CHECK(weights_of("8121") == "2 1 1 in 2 bits, 2 bytes");
  CHECK(weights_of("8011") == "1 1 in 1 bits, 2 bytes");
  CHECK(weights_of("832110") == "2 1 1 0 3 in 3 bits, 3 bytes");
}

TEST_CASE("huffman_weights: the description by a finite-state coder that libzstd makes") {
  // By libzstd 1.5.4, for bytes of which 20 is every second, 21 every fourth, and so on.
  CHECK(weights_of("12106f0a92a40324b383d6e8db46b6dd554d10") ==
        "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 11 10 9 8 7 6 5 3 2 2 1 1 1 1 1 0 1 1 0 1 in 11 "
        "bits, 19 bytes");
}

TEST_CASE("huffman_weights: what describes no code") {
  CHECK(weights_of("") == "none");
  CHECK(weights_of("81") == "none");    // cut
  CHECK(weights_of("8131") == "none");  // no power of two misses to the sum
  CHECK(weights_of("8100") == "none");  // no symbol
  CHECK(weights_of("8060") == "none");  // no longest code
  CHECK(weights_of("80c0") == "none");  // longer than 11 bits
  CHECK(weights_of("81bb") == "none");  // so with the last one
  CHECK(weights_of("00") == "none");
  CHECK(weights_of("0100") == "none");
  CHECK(weights_of("05300000") == "none");
}

}  // namespace huffman_weights_test
