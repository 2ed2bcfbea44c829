// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/blosc/huffman_encode.hpp>

#include "support/huffman_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace huffman_code_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::detail::byte_counts;
using zp::detail::huffman_code;
using zp::detail::huffman_weights;

namespace {

/// The fewest bits that codes of up to `longest` bits can have: by search through all numbers of
/// codes that are left at each length, for few symbols.
std::uint64_t fewest_bits(std::vector<std::uint32_t> counts, unsigned longest) {
  std::sort(counts.rbegin(), counts.rend());
  constexpr std::uint64_t none = UINT64_MAX / 2;
  // least[open]: when so many prefixes of this length are open and `done` symbols have codes.
  const std::size_t n = counts.size();
  std::vector<std::vector<std::uint64_t>> least(n + 1, std::vector<std::uint64_t>(n + 1, none));
  least[0][1] = 0;
  std::uint64_t best = none;
  for (unsigned length = 0; length <= longest; ++length) {
    std::vector<std::vector<std::uint64_t>> next(n + 1, std::vector<std::uint64_t>(n + 1, none));
    for (std::size_t done = 0; done <= n; ++done) {
      for (std::size_t open = 0; open <= n; ++open) {
        std::uint64_t cost = least[done][open];
        if (cost == none) continue;
        for (std::size_t ends = 0; ends <= open && done + ends <= n; ++ends) {
          if (ends > 0) cost += std::uint64_t{counts[done + ends - 1]} * length;
          const std::size_t left = 2 * (open - ends);
          if (done + ends == n && left == 0) best = std::min(best, cost);
          if (done + ends + left > n || left == 0) continue;
          std::uint64_t& to = next[done + ends][left];
          to = std::min(to, cost);
        }
      }
    }
    least = next;
  }
  return best;
}

std::uint64_t bits_of(const byte_counts& counts, const huffman_code& code) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < 256; ++i) out += std::uint64_t{counts[i]} * code.lengths[i];
  return out;
}

/// A code for exactly the symbols that occur, without a prefix in common, and none left over.
void check_code(const byte_counts& counts, const huffman_code& code) {
  std::uint32_t used = 0;
  std::vector<bool> taken(2048);
  for (std::size_t i = 0; i < 256; ++i) {
    CAPTURE(i);
    const unsigned length = code.lengths[i];
    REQUIRE((length != 0) == (counts[i] != 0));
    if (length == 0) continue;
    REQUIRE(length <= code.bits);
    REQUIRE(code.codes[i] < 1U << length);
    const std::uint32_t share = 2048U >> length;
    used += share;
    for (std::uint32_t k = 0; k < share; ++k) {
      REQUIRE_FALSE(taken[code.codes[i] * share + k]);
      taken[code.codes[i] * share + k] = true;
    }
  }
  REQUIRE(used == 2048);
  REQUIRE(code.bits <= huffman_code::max_bits);
}

}  // namespace

TEST_CASE("huffman_code: codes of the fewest bits, of which none is longer than 11") {
  random_source random(1);
  for (int round = 0; round < 300; ++round) {
    byte_counts counts{};
    std::vector<std::uint32_t> given;
    const std::size_t symbols = 2 + pick(random, 15);
    while (given.size() < symbols) {
      std::uint32_t& one = counts[pick(random, 256)];
      if (one != 0) continue;
      one = 1U << pick(random, 20);  // so that trees without a limit would be deep
      given.push_back(one);
    }
    const huffman_code code = huffman_code::of(counts);
    check_code(counts, code);
    CHECK(bits_of(counts, code) == fewest_bits(given, 11));
  }
}

TEST_CASE("huffman_code: histograms of all kinds, and what describes their codes") {
  random_source random(2);
  for (const byte_counts& counts : huffman_histograms(random)) {
    const huffman_code code = huffman_code::of(counts);
    check_code(counts, code);
    std::array<std::byte, huffman_code::max_description> text;
    const std::size_t size = code.describe(text);
    if (size == 0) {
      // Only where hardly anything is gained: 254 codes of eight bits or more.
      CHECK(std::count(code.lengths.begin(), code.lengths.end(), 8) >= 254);
      continue;
    }
    const auto weights = zp::detail::read_huffman_weights(zp::bytes_view(text).first(size));
    REQUIRE(weights);
    REQUIRE(weights->size == size);
    REQUIRE(weights->bits == code.bits);
    REQUIRE(weights->count == code.last + 1);
    for (std::size_t i = 0; i <= code.last; ++i) {
      const unsigned length = code.lengths[i];
      REQUIRE(weights->of[i] == (length == 0 ? 0 : code.bits + 1 - length));
    }
  }
}

TEST_CASE("huffman_code: codes are numbered as zstd does it") {
  byte_counts counts{};
  counts[3] = 8;
  counts[5] = 1;
  counts[6] = 3;
  counts[9] = 2;
  const huffman_code code = huffman_code::of(counts);
  CHECK(code.bits == 3);
  CHECK(code.last == 9);
  CHECK(code.lengths[3] == 1);
  CHECK(code.codes[3] == 1);
  CHECK(code.codes[5] == 0);  // the longest first, in order
  CHECK(code.codes[9] == 1);
  CHECK(code.codes[6] == 1);
}

}  // namespace huffman_code_test
