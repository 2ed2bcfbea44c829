// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/blosc/huffman_decode.hpp>
#include <zarrpoint/codec/blosc/huffman_weights.hpp>
#include <zarrpoint/core/bytes.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE bool huffman_decoder::stream::open(bytes_view from, mutable_bytes into) {
  to = into.data();
  end = to + into.size();
  if (!rest.open(from)) return false;
  begin = from.data();
  if (from.size() < word) return true;
  at = from.data() + (from.size() - word);
  refill(8 * from.size() - static_cast<std::size_t>(rest.left()));
  return true;
}

ZARRPOINT_INLINE std::size_t huffman_decoder::stream::safe_rounds() const {
  if (at == nullptr) return 0;
  return std::min(static_cast<std::size_t>(end - to) / (look_ups * most),
                  static_cast<std::size_t>(at - begin) / word);
}

ZARRPOINT_INLINE bool huffman_decoder::finish(stream& one) const {
  if (one.at != nullptr) {
    const auto taken = std::countr_zero(one.bits);
    one.rest.skip_to(8 * (one.at - one.begin) + 64 - taken);
  }
  for (; one.to != one.end; ++one.to) {
    const auto symbol = static_cast<std::uint8_t>(symbols_[one.rest.peek(bits)] & 255);
    *one.to = std::byte{symbol};
    one.rest.skip(code_lengths_[symbol]);
    if (one.rest.left() < 0) return false;
  }
  return one.rest.left() == 0;
}

ZARRPOINT_INLINE void huffman_decoder::set(const huffman_weights& weights) {
  struct code {
    std::uint8_t symbol;
    std::uint8_t length;
    std::size_t first;  ///< of its entries in a table of `weights.bits`
  };
  // Codes are numbered by weight: the longest come first.
  std::array<code, 256> codes;
  std::size_t count = 0;
  std::size_t first = 0;
  for (unsigned weight = 1; weight <= weights.bits; ++weight) {
    for (std::size_t i = 0; i < weights.count; ++i) {
      if (weights.of[i] != weight) continue;
      const auto length = static_cast<std::uint8_t>(weights.bits + 1 - weight);
      codes[count++] = {static_cast<std::uint8_t>(i), length, first};
      code_lengths_[i] = length;
      first += std::size_t{1} << (weight - 1);
    }
  }
  // All whole symbols in k bits, for small k, at 2^k. What follows a code of l bits among them are
  // the whole symbols in k - l bits: those of a smaller table, copied.
  struct table {
    std::uint64_t* symbols;
    std::uint8_t* counts;
    std::uint8_t* lengths;
  };
  constexpr unsigned small = bits - 2;  // what follows a code of two bits
  std::array<std::uint64_t, 2 << small> symbols;
  std::array<std::uint8_t, 2 << small> counts;
  std::array<std::uint8_t, 2 << small> lengths;
  const auto small_table = [&](unsigned k) {
    const std::size_t at = std::size_t{1} << k;
    return table{&symbols[at], &counts[at], &lengths[at]};
  };
  // With codes of one bit no more than seven bits may follow, for a word to hold the symbols.
  const unsigned most_inner = codes[count - 1].length == 1 ? most - 1 : small;
  const auto place = [&](std::size_t entry, unsigned k) {
    return k < weights.bits ? entry >> (weights.bits - k) : entry << (k - weights.bits);
  };
  const auto fill = [&](unsigned k, const table& to) {
    std::size_t at = 0;
    std::size_t c = 0;
    while (c < count && codes[c].length > k) ++c;
    const std::size_t none = c == count ? std::size_t{1} << k : place(codes[c].first, k);
    for (; at < none; ++at) to.symbols[at] = to.counts[at] = to.lengths[at] = 0;
    for (; c < count; ++c) {
      const unsigned rest = k - codes[c].length;
      const unsigned inner = std::min(rest, most_inner);
      const table from = small_table(inner);
      const std::size_t size = std::size_t{1} << rest;
      for (std::size_t i = 0; i < size; ++i, ++at) {
        const std::size_t entry = i >> (rest - inner);
        to.symbols[at] = from.symbols[entry] << 8 | codes[c].symbol;
        to.counts[at] = static_cast<std::uint8_t>(from.counts[entry] + 1);
        to.lengths[at] = static_cast<std::uint8_t>(from.lengths[entry] + codes[c].length);
      }
    }
  };
  for (unsigned k = 0; k <= most_inner; ++k) fill(k, small_table(k));
  fill(bits, {symbols_.data(), counts_.data(), lengths_.data()});
}

}}}  // namespace zarrpoint::v0::detail
