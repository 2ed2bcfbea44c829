// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/blosc/huffman_code.hpp>
#include <zarrpoint/core/bytes.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// How many symbols have codes of each length, so that all codes together take the fewest bits,
/// none more than 11 (package-merge: Larmore and Hirschberg, 1990). `sorted`: what two or more
/// symbols count, the least first; their lengths fall in that order.
inline std::array<std::size_t, huffman_code::max_bits + 1> huffman_lengths(
    const std::uint32_t* sorted, std::size_t count) noexcept {
  constexpr unsigned most = huffman_code::max_bits;
  // In each round the symbols stand in one row with the pairs of the round before. The first of the
  // last row are chosen, with all that they are pairs of; a symbol's length is how often it is.
  std::array<std::uint32_t, 512> row;
  std::array<std::uint32_t, 512> last;
  std::array<std::array<std::uint16_t, 512>, most>
      symbols_before;  // in the row, by round and place
  const std::size_t chosen = 2 * count - 2;
  std::size_t size = 0;
  for (unsigned round = 0; round < most; ++round) {
    const std::size_t pairs = size / 2;
    for (std::size_t i = 0; i < pairs; ++i) last[i] = row[2 * i] + row[2 * i + 1];
    last[pairs] = UINT32_MAX;
    size = std::min(count + pairs, chosen);
    std::size_t symbol = 0;
    std::size_t pair = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint32_t next = symbol < count ? sorted[symbol] : UINT32_MAX;
      const bool is_symbol = next <= last[pair];
      row[i] = is_symbol ? next : last[pair];
      symbol += is_symbol ? 1 : 0;
      pair += is_symbol ? 0 : 1;
      symbols_before[round][i] = static_cast<std::uint16_t>(symbol);
    }
  }
  std::array<std::size_t, most + 1> out{};
  std::size_t taken = chosen;
  for (unsigned round = most; round-- > 0;) {
    // Of those that are chosen in one round more, the codes are longer.
    const std::size_t symbols = taken == 0 ? 0 : symbols_before[round][taken - 1];
    const unsigned length = most - round;
    out[length] = symbols;
    out[length - 1] -= length > 1 ? symbols : 0;
    taken = 2 * (taken - symbols);
  }
  return out;
}

ZARRPOINT_INLINE huffman_code huffman_code::of(const byte_counts& counts) {
  huffman_code out;
  std::array<std::uint32_t, 256> sorted;  // the count, and below it the symbol
  std::size_t count = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    sorted[count++] = counts[i] << 8 | static_cast<std::uint32_t>(i);
    out.last = i;
  }
  std::sort(sorted.data(), sorted.data() + count);
  std::array<std::uint8_t, 256> symbols;
  for (std::size_t i = 0; i < count; ++i) {
    symbols[i] = static_cast<std::uint8_t>(sorted[i] & 255);
    sorted[i] >>= 8;
  }
  const auto numbers = huffman_lengths(sorted.data(), count);
  std::size_t at = 0;
  for (unsigned length = max_bits; length > 0; --length) {
    const std::size_t number = numbers[length];
    if (number != 0) out.bits = std::max(out.bits, length);
    for (const std::size_t end = at + number; at < end; ++at)
      out.lengths[symbols[at]] = static_cast<std::uint8_t>(length);
  }
  // Codes are numbered from the longest on, those of a length in the order of their symbols.
  std::array<std::uint32_t, max_bits + 1> next{};
  std::uint32_t first = 0;
  for (unsigned length = out.bits; length > 0; --length) {
    next[length] = first;
    first = (first + static_cast<std::uint32_t>(numbers[length])) >> 1;
  }
  for (std::size_t i = 0; i <= out.last; ++i)
    if (out.lengths[i] != 0) out.codes[i] = static_cast<std::uint16_t>(next[out.lengths[i]]++);
  return out;
}

/// A finite-state entropy coder for weights (RFC 8878, 4.1), with tables of 64 states.
class fse_weights_writer {
 public:
  /// Returns the bytes, or 0 when they do not fit, or there are not two different weights.
  std::size_t write(const std::uint8_t* weights, std::size_t count, mutable_bytes to) {
    std::array<unsigned, symbols> counts{};
    for (std::size_t i = 0; i < count; ++i) ++counts[weights[i]];
    if (!share_states(counts, static_cast<unsigned>(count))) return 0;
    place_states();
    // The longest are 12 weights of some bits each, then up to 255 of 6.
    constexpr std::size_t room = 240;
    std::array<std::byte, room> made;
    bits_writer out{made.data()};
    write_shares(out);
    out.end_byte();
    write_states(out, weights, count);
    const std::size_t size = static_cast<std::size_t>(out.at - made.data());
    if (size > to.size()) return 0;
    std::copy_n(made.data(), size, to.data());
    return size;
  }

 private:
  static constexpr unsigned log = 6;
  static constexpr unsigned size = 1 << log;
  static constexpr std::size_t symbols = huffman_code::max_bits + 1;

  struct bits_writer {
    std::byte* at;
    unsigned held = 0;
    unsigned count = 0;

    void put(unsigned value, unsigned bits) {
      held |= value << count;
      count += bits;
      for (; count >= 8; count -= 8, held >>= 8) *at++ = static_cast<std::byte>(held & 255);
    }
    void end_byte() {
      if (count != 0) put(0, 8 - count);
    }
  };

  /// Shares of the 64 states, one at least for each weight that occurs.
  bool share_states(const std::array<unsigned, symbols>& counts, unsigned total) {
    unsigned taken = 0;
    for (std::size_t s = 0; s < symbols; ++s) {
      if (counts[s] == 0) continue;
      shares_[s] = std::max(1U, (counts[s] * size + total / 2) / total);
      taken += shares_[s];
    }
    const auto largest = [&]() -> unsigned& {
      return *std::max_element(shares_.begin(), shares_.end());
    };
    for (; taken > size; --taken) --largest();
    largest() += size - taken;
    return largest() < size;
  }

  void place_states() {
    std::array<unsigned, symbols> end{};
    unsigned first = 0;
    for (std::size_t s = 0; s < symbols; ++s) {
      first_[s] = end[s] = first;
      first += shares_[s];
    }
    std::array<std::uint8_t, size> at_place;
    unsigned at = 0;
    for (std::size_t s = 0; s < symbols; ++s) {
      for (unsigned i = 0; i < shares_[s]; ++i) {
        at_place[at] = static_cast<std::uint8_t>(s);
        at = (at + (size >> 1) + (size >> 3) + 3) & (size - 1);
      }
    }
    for (unsigned i = 0; i < size; ++i) states_[end[at_place[i]]++] = static_cast<std::uint8_t>(i);
  }

  void write_shares(bits_writer& out) const {
    out.put(log - 5, 4);
    unsigned left = size;
    for (std::size_t s = 0; left > 0;) {
      // Of the values up to left + 1 the lowest take a bit less.
      const unsigned value = shares_[s] + 1;
      const auto bits = static_cast<unsigned>(std::bit_width(left + 1));
      const unsigned spare = (1U << bits) - 2 - left;
      if (value < spare) {
        out.put(value, bits - 1);
      } else {
        out.put(value < 1U << (bits - 1) ? value : value + spare, bits);
      }
      left -= shares_[s];
      if (shares_[s++] != 0) continue;
      // How many more are without a share, by threes.
      unsigned zeros = 0;
      for (; shares_[s] == 0; ++s) ++zeros;
      for (; zeros >= 3; zeros -= 3) out.put(3, 2);
      out.put(zeros, 2);
    }
  }

  /// Two states in turn, from the last weight to the first, since they are read the other way.
  void write_states(bits_writer& out, const std::uint8_t* weights, std::size_t count) const {
    // The first of a weight's states has bits to follow, by whose lack the end is known.
    unsigned now = states_[first_[weights[count - 1]]];
    unsigned other = states_[first_[weights[count - 2]]];
    for (std::size_t i = count - 2; i-- > 0;) {
      const std::uint8_t weight = weights[i];
      const unsigned share = shares_[weight];
      const unsigned whole = now + size;
      auto bits = log - static_cast<unsigned>(std::bit_width(share)) + 1;
      if (whole >> bits < share) --bits;
      out.put(whole & ((1U << bits) - 1), bits);
      now = states_[first_[weight] + (whole >> bits) - share];
      std::swap(now, other);
    }
    out.put(now, log);
    out.put(other, log);
    out.put(1, 1);
    out.end_byte();
  }

  std::array<unsigned, symbols> shares_{};
  std::array<unsigned, symbols> first_{};    ///< of a weight's states in `states_`
  std::array<std::uint8_t, size> states_{};  ///< of each weight, in order
};

ZARRPOINT_INLINE std::size_t huffman_code::describe(
    std::array<std::byte, max_description>& to) const {
  // All but the last one, which follows from the others.
  std::array<std::uint8_t, 256> weights{};
  for (std::size_t i = 0; i < last; ++i)
    if (lengths[i] != 0) weights[i] = static_cast<std::uint8_t>(bits + 1 - lengths[i]);
  const std::size_t plain = 1 + (last + 1) / 2;  // four bits each
  std::size_t size = 0;
  if (last > 2) {
    const mutable_bytes room = mutable_bytes(to).subspan(1);
    size = fse_weights_writer().write(weights.data(), last, room);
    to[0] = static_cast<std::byte>(size);
    if (size != 0) ++size;
  }
  if (last > 128 || (size != 0 && size <= plain)) return size;
  to[0] = static_cast<std::byte>(127 + last);
  for (std::size_t i = 0; i < last; i += 2)
    to[1 + i / 2] = static_cast<std::byte>(weights[i] << 4 | weights[i + 1]);
  return plain;
}

}}}  // namespace zarrpoint::v0::detail
