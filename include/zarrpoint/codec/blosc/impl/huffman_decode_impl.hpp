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
  std::array<std::size_t, bits + 2> next{};  // by weight
  for (std::size_t i = 0; i < weights.count; ++i) ++next[weights.of[i] + 1U];
  next[1] = 0;  // not of those that do not occur
  for (unsigned weight = 2; weight < next.size(); ++weight) next[weight] += next[weight - 1];
  const std::size_t count = next[bits + 1];
  for (std::size_t i = 0; i < weights.count; ++i) {
    const unsigned weight = weights.of[i];
    if (weight == 0) continue;
    code_lengths_[i] = static_cast<std::uint8_t>(weights.bits + 1 - weight);
    codes[next[weight]++] = {static_cast<std::uint8_t>(i), code_lengths_[i], 0};
  }
  std::size_t first = 0;
  for (std::size_t i = 0; i < count; ++i) {
    codes[i].first = first;
    first += std::size_t{1} << (weights.bits - codes[i].length);
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
  std::array<std::uint8_t, (2 << small) + spare> counts{};
  std::array<std::uint8_t, (2 << small) + spare> lengths{};
  const auto small_table = [&](unsigned k) {
    const std::size_t at = std::size_t{1} << k;
    return table{&symbols[at], &counts[at], &lengths[at]};
  };
  const auto add_to_bytes = [](std::uint8_t* out, const std::uint8_t* in, std::uint64_t what) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, in, sizeof eight);
    eight += what * 0x0101010101010101;
    std::memcpy(out, &eight, sizeof eight);
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
      const std::uint64_t symbol = codes[c].symbol;
      const std::uint64_t length = codes[c].length;
      if (rest == inner) {
        for (std::size_t i = 0; i < size; ++i) to.symbols[at + i] = from.symbols[i] << 8 | symbol;
        // Eight at a time; what is too much is written over by the next ones.
        for (std::size_t i = 0; i < size; i += 8) {
          add_to_bytes(to.counts + at + i, from.counts + i, 1);
          add_to_bytes(to.lengths + at + i, from.lengths + i, length);
        }
      } else {
        for (std::size_t i = 0; i < size; ++i) {
          const std::size_t entry = i >> (rest - inner);
          to.symbols[at + i] = from.symbols[entry] << 8 | symbol;
          to.counts[at + i] = static_cast<std::uint8_t>(from.counts[entry] + 1);
          to.lengths[at + i] = static_cast<std::uint8_t>(from.lengths[entry] + length);
        }
      }
      at += size;
    }
  };
  for (unsigned k = 0; k <= most_inner; ++k) fill(k, small_table(k));
  fill(bits, {symbols_.data(), counts_.data(), lengths_.data()});
}

}}}  // namespace zarrpoint::v0::detail
