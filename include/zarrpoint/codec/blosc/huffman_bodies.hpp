// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/blosc/huffman_decode.hpp>
#include <zarrpoint/codec/blosc/huffman_encode.hpp>
#include <zarrpoint/codec/blosc/huffman_weights.hpp>
#include <zarrpoint/codec/blosc/literals_reader.hpp>
#include <zarrpoint/codec/blosc/zstd_literals.hpp>
#include <zarrpoint/core/config.hpp>

#include <cstring>
#include <new>
#include <numeric>

namespace zarrpoint { inline namespace v0 { namespace detail {

// ----------------------------------------------------------------------------- huffman_weights.hpp

ZARRPOINT_INLINE bool backward_bits::open(bytes_view from) {
  if (from.empty() || from.back() == std::byte{}) return false;
  data_ = from;
  const auto last = std::to_integer<unsigned>(from.back());
  left_ = 8 * static_cast<std::ptrdiff_t>(from.size()) - 9 + std::bit_width(last);
  return true;
}

ZARRPOINT_INLINE unsigned backward_bits::peek(unsigned count) const noexcept {
  const std::ptrdiff_t low = left_ - static_cast<std::ptrdiff_t>(count);
  unsigned out = 0;
  for (std::ptrdiff_t at = low >> 3; at <= (left_ - 1) >> 3; ++at) {
    if (at < 0) continue;
    const auto byte = std::to_integer<unsigned>(data_[static_cast<std::size_t>(at)]);
    const std::ptrdiff_t shift = 8 * at - low;
    out |= shift < 0 ? byte >> -shift : byte << shift;
  }
  return out & ((1U << count) - 1);
}

ZARRPOINT_INLINE unsigned backward_bits::take(unsigned count) noexcept {
  const unsigned out = peek(count);
  skip(count);
  return out;
}

/// The table of a finite-state entropy decoder for weights (RFC 8878, 4.1).
class fse_weights {
 public:
  /// The table at the start of `from`; returns its bytes, 0 when it is none.
  std::size_t read(bytes_view from) {
    forward_bits in{from};
    log_ = in.take(4) + 5;
    if (log_ > max_log) return 0;
    std::array<int, 16> shares{};
    std::size_t symbols = 0;
    int left = 1 << log_;
    while (left > 0) {
      if (symbols >= shares.size()) return 0;
      // A value of up to left + 1 in one bit less where that is enough.
      const unsigned bits = static_cast<unsigned>(std::bit_width(static_cast<unsigned>(left + 1)));
      const int low = static_cast<int>(in.peek(bits - 1));
      const int spare = (1 << bits) - 2 - left;
      int value = low;
      if (low < spare) {
        in.at += bits - 1;
      } else {
        value = static_cast<int>(in.take(bits));
        if (value >= 1 << (bits - 1)) value -= spare;
      }
      const int share = value - 1;
      left -= share < 0 ? 1 : share;
      shares[symbols++] = share;
      if (share != 0) continue;
      for (unsigned zeros = 3; zeros == 3;) {
        zeros = in.take(2);
        if (symbols + zeros > shares.size()) return 0;
        symbols += zeros;
      }
    }
    if (left != 0 || in.at > 8 * from.size() || !spread(shares)) return 0;
    return (in.at + 7) / 8;
  }

  /// Decodes the weights that are all of `from`; returns their number, 0 when they are none.
  std::size_t decode(bytes_view from, std::array<std::uint8_t, 256>& to) const {
    backward_bits in;
    if (!in.open(from)) return 0;
    // Two states in turn; the one whose bits have run out has had its say.
    unsigned first = in.take(log_);
    unsigned second = in.take(log_);
    if (in.left() < 0) return 0;
    std::size_t count = 0;
    while (count + 2 < to.size()) {
      const cell& now = cells_[first];
      to[count++] = now.symbol;
      first = now.base + in.take(now.bits);
      if (in.left() < 0) {
        to[count++] = cells_[second].symbol;
        return count;
      }
      std::swap(first, second);
    }
    return 0;
  }

 private:
  static constexpr unsigned max_log = 6;

  struct cell {
    std::uint8_t symbol = 0;
    std::uint8_t bits = 0;
    std::uint16_t base = 0;
  };
  struct forward_bits {
    bytes_view from;
    std::size_t at = 0;

    unsigned peek(unsigned count) const {
      unsigned out = 0;
      for (unsigned i = 0; i < count; ++i) {
        const std::size_t byte = (at + i) / 8;
        if (byte < from.size())
          out |= (std::to_integer<unsigned>(from[byte]) >> (at + i) % 8 & 1U) << i;
      }
      return out;
    }
    unsigned take(unsigned count) {
      const unsigned out = peek(count);
      at += count;
      return out;
    }
  };

  bool spread(const std::array<int, 16>& shares) {
    const std::size_t size = std::size_t{1} << log_;
    std::size_t high = size;
    std::array<std::uint16_t, 16> next{};
    for (std::size_t s = 0; s < shares.size(); ++s) {
      if (shares[s] >= 0) {
        next[s] = static_cast<std::uint16_t>(shares[s]);
        continue;
      }
      if (high == 0) return false;
      cells_[--high].symbol = static_cast<std::uint8_t>(s);
      next[s] = 1;
    }
    std::size_t at = 0;
    for (std::size_t s = 0; s < shares.size(); ++s) {
      for (int i = 0; i < shares[s]; ++i) {
        cells_[at].symbol = static_cast<std::uint8_t>(s);
        do {
          at = (at + (size >> 1) + (size >> 3) + 3) & (size - 1);
        } while (at >= high);
      }
    }
    if (at != 0) return false;
    for (std::size_t i = 0; i < size; ++i) {
      const unsigned state = next[cells_[i].symbol]++;
      cells_[i].bits =
          static_cast<std::uint8_t>(log_ + 1 - static_cast<unsigned>(std::bit_width(state)));
      cells_[i].base = static_cast<std::uint16_t>((state << cells_[i].bits) - size);
    }
    return true;
  }

  unsigned log_ = 0;
  std::array<cell, std::size_t{1} << max_log> cells_{};
};

ZARRPOINT_INLINE std::optional<huffman_weights> read_huffman_weights(bytes_view from) {
  if (from.empty()) return std::nullopt;
  huffman_weights out;
  const auto head = std::to_integer<std::size_t>(from[0]);
  from = from.subspan(1);
  if (head >= 128) {  // four bits each
    out.count = head - 127;
    const std::size_t bytes = (out.count + 1) / 2;
    if (from.size() < bytes) return std::nullopt;
    for (std::size_t i = 0; i < out.count; ++i)
      out.of[i] = static_cast<std::uint8_t>(
          std::to_integer<unsigned>(from[i / 2]) >> (i % 2 == 0 ? 4 : 0) & 15U);
    out.size = 1 + bytes;
  } else {
    if (from.size() < head) return std::nullopt;
    fse_weights table;
    const std::size_t used = table.read(from.first(head));
    if (used == 0 || used >= head) return std::nullopt;
    out.count = table.decode(from.first(head).subspan(used), out.of);
    if (out.count == 0) return std::nullopt;
    out.size = 1 + head;
  }
  // The last weight makes the sum of all 2^(weight - 1) a power of two.
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < out.count; ++i) {
    if (out.of[i] > huffman_weights::max_bits) return std::nullopt;
    sum += (1U << out.of[i]) >> 1;
  }
  if (sum == 0) return std::nullopt;
  out.bits = static_cast<unsigned>(std::bit_width(sum));
  const std::uint32_t rest = (1U << out.bits) - sum;
  if (out.bits > huffman_weights::max_bits || !std::has_single_bit(rest)) return std::nullopt;
  out.of[out.count++] = static_cast<std::uint8_t>(std::bit_width(rest));
  // The longest codes are two at least.
  if (std::count(out.of.begin(), out.of.end(), 1) < 2) return std::nullopt;
  return out;
}

// ------------------------------------------------------------------------------ huffman_encode.hpp

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
  if (count < 2) return {};
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

ZARRPOINT_INLINE std::uint64_t huffman_code::bits_of(const byte_counts& counts) const noexcept {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) out += counts[i] * lengths[i];
  return out;
}

ZARRPOINT_INLINE bool counted_block::choose_codes(counted_block* blocks, std::size_t count) {
  byte_counts sum{};
  for (std::size_t b = 0; b < count; ++b) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += blocks[b].counts[i];
    blocks[b].code = huffman_code::of(blocks[b].counts);
  }
  if (count == 1) return true;
  const huffman_code common = huffman_code::of(sum);
  const bool is_shared = std::all_of(blocks, blocks + count, [&](const counted_block& one) {
    const std::uint64_t own = one.code.bits_of(one.counts);
    return common.bits_of(one.counts) - own <= own / 256;
  });
  for (std::size_t b = 0; b < count && is_shared; ++b) blocks[b].code = common;
  return is_shared;
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

/// Bits on their way out, the first ones lowest. The newest are the highest of `held`, so that
/// those of the next code are shifted in by the length of that code alone.
struct huffman_bits {
  std::byte* to;
  std::uint64_t held = 0;
  std::uint64_t count = 0;  ///< bits of `held` not written yet; below 8 after `flush`

  /// `top`: a code of `length` bits at the top of a word; below it anything of up to 8 bits. Only
  /// the lowest six bits of `length` count.
  [[gnu::always_inline]] void put(std::uint64_t top, std::uint64_t length) noexcept {
    held = held >> (length & 63) | top;
    count += length;
  }
  /// Up to 63 bits; up to 56 when there was something below the codes.
  [[gnu::always_inline]] void flush() noexcept {
    store_le<std::uint64_t>(to, held >> (-count & 63));
    to += (count & 63) >> 3;
    count &= 7;
  }
  /// Ends the stream; returns its bytes.
  std::size_t finish(const std::byte* begin) noexcept {
    put(std::uint64_t{1} << 63, 1);
    flush();
    if (count != 0) ++to;
    return static_cast<std::size_t>(to - begin);
  }
};

/// The codes as the kernels look them up.
struct huffman_entries {
  /// The code at the top, its length at the bottom.
  std::array<std::uint64_t, 256> of;

  explicit huffman_entries(const huffman_code& code) noexcept {
    for (std::size_t i = 0; i < of.size(); ++i) {
      const unsigned length = code.lengths[i];
      of[i] = std::uint64_t{code.codes[i]} << (64 - length) % 64 | length;
    }
  }
};

/// Two streams in turn, or one, four symbols of each, then what is left of each. Of four in turn
/// the words do not fit into registers.
template <std::size_t... I>
[[gnu::always_inline]] inline void encode_in_turn(const huffman_entries& entries,
                                                  huffman_stream* streams,
                                                  std::index_sequence<I...>) noexcept {
  huffman_bits out[] = {huffman_bits{streams[I].to}...};
  const std::size_t common = std::min({streams[I].from.size()...}) / 4 * 4;
  const std::byte* const at[] = {streams[I].from.data() + (streams[I].from.size() - common)...};
  const auto put = [&](std::size_t i, std::byte symbol) __attribute__((always_inline)) {
    const std::uint64_t entry = entries.of[std::to_integer<std::size_t>(symbol)];
    out[i].put(entry, entry);
  };
  for (std::size_t left = common; left != 0; left -= 4) {
    (put(I, at[I][left - 1]), ...);
    (put(I, at[I][left - 2]), ...);
    (put(I, at[I][left - 3]), ...);
    (put(I, at[I][left - 4]), ...);
    (out[I].flush(), ...);
  }
  for (std::size_t i = 0; i < sizeof...(I); ++i) {
    for (std::size_t left = streams[i].from.size() - common; left-- > 0;) {
      put(i, streams[i].from[left]);
      out[i].flush();
    }
    streams[i].size = out[i].finish(streams[i].to);
  }
}
[[gnu::always_inline]] inline void encode_by_pairs(const huffman_entries& entries,
                                                   huffman_stream* streams,
                                                   std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + 2 <= count; i += 2)
    encode_in_turn(entries, streams + i, std::make_index_sequence<2>{});
  for (; i < count; ++i) encode_in_turn(entries, streams + i, std::make_index_sequence<1>{});
}

#if defined(__x86_64__) && defined(__GNUC__)

[[gnu::target("bmi,bmi2")]] inline void encode_streams_bmi2(const huffman_entries& entries,
                                                            huffman_stream* streams,
                                                            std::size_t count) noexcept {
  encode_by_pairs(entries, streams, count);
}

/// Codes of several symbols, up to 56 bits: at the top of a word, and their length.
struct huffman_runs {
  static constexpr std::uint64_t longest = 56;  // a word has up to seven more of a byte begun
  static constexpr std::size_t room = 128;
  std::uint64_t top[room];
  std::uint64_t length[room];
  std::size_t count;  ///< a multiple of 8
};

/// A stream of which the last 64 bits are `held`, so that each word that is written repeats what
/// stands there already, and makes it longer at its end.
struct huffman_tail {
  std::byte* before;  ///< the start of the stream: eight bytes, and so one word, before it
  std::uint64_t held = 0;
  std::uint64_t count = 7;  ///< of all bits, and seven more: counts bytes that are begun

  [[gnu::target("avx512vbmi,bmi,bmi2")]] void put(std::uint64_t top,
                                                  std::uint64_t length) noexcept {
    held = held >> length | top;
    count += length;
  }
  [[gnu::target("avx512vbmi,bmi,bmi2")]] void write() const noexcept {
    store_le<std::uint64_t>(before + (count >> 3), held >> (~count & 7));
  }
  /// From the last to the first. A word holds two runs, but for rare long ones.
  [[gnu::target("avx512vbmi,bmi,bmi2")]] void put(const huffman_runs& runs) noexcept {
    huffman_tail out = *this;
    for (std::size_t i = runs.count; i != 0; i -= 2) {
      const std::uint64_t second = runs.length[i - 1];
      const std::uint64_t first = runs.length[i - 2];
      out.put(runs.top[i - 1], second);
      if (first + second > huffman_runs::longest) out.write();
      out.put(runs.top[i - 2], first);
      out.write();
    }
    *this = out;
  }
};

/// 64 symbols at a time: their codes are joined by pairs, fours and eights.
class huffman_vbmi {
  template <class T>
  using of [[gnu::vector_size(64)]] = T;
  using bytes = of<std::uint8_t>;
  using signed_bytes = of<std::int8_t>;
  using words = of<std::uint16_t>;
  using doubles = of<std::uint32_t>;
  using quads = of<std::uint64_t>;

 public:
  static constexpr std::size_t width = 64;
  static constexpr std::size_t batch = huffman_runs::room / 16 * width;

  [[gnu::target("avx512vbmi,bmi,bmi2")]] explicit huffman_vbmi(const huffman_code& code) noexcept {
    std::uint8_t low[256];
    std::uint8_t rest[256];
    for (std::size_t i = 0; i < code.codes.size(); ++i) {
      low[i] = static_cast<std::uint8_t>(code.codes[i] & 255);
      rest[i] = static_cast<std::uint8_t>(code.codes[i] >> 8 << 4 | code.lengths[i]);
    }
    std::memcpy(low_, low, sizeof low);
    std::memcpy(rest_, rest, sizeof rest);
  }

  /// The codes of up to `batch` symbols, a multiple of 64. They are all joined before the first is
  /// written, so that none waits for what is written.
  [[gnu::target("avx512vbmi,bmi,bmi2")]] void join(huffman_runs& to, const std::byte* from,
                                                   std::size_t size) const noexcept {
    const huffman_vbmi tables = *this;  // in registers
    std::size_t count = 0;
    for (std::size_t i = 0; i < size; i += width) count = tables.step(to, count, from + i);
    to.count = count;
  }

 private:
  template <class T>
  [[gnu::target("avx512vbmi,bmi,bmi2")]] [[gnu::always_inline]] static void look_up(
      bytes& out, const T& table, const bytes& at) noexcept {
    bytes low = at;
    bytes high = at;
    __asm__("vpermi2b %2, %1, %0" : "+v"(low) : "v"(table[0]), "v"(table[1]));
    __asm__("vpermi2b %2, %1, %0" : "+v"(high) : "v"(table[2]), "v"(table[3]));
    out = reinterpret_cast<signed_bytes>(at) < 0 ? high : low;
  }

  /// Writes the codes of 64 symbols; returns where the next ones go.
  [[gnu::target("avx512vbmi,bmi,bmi2")]] [[gnu::always_inline]] std::size_t step(
      huffman_runs& to, std::size_t place, const std::byte* from) const noexcept {
    const bytes zero{};
    const bytes byte_ones = zero + 1;
    bytes at;
    std::memcpy(&at, from, width);
    bytes low;
    bytes rest;
    look_up(low, low_, at);
    look_up(rest, rest_, at);
    const bytes length = rest & 15;
    const bytes high = rest >> 4;
    // The bits of the second symbol of pairs, the second pair of fours, the second four of eights,
    // and of all eight.
    const words of_second = reinterpret_cast<words>(length) >> 8;
    doubles of_pairs;
    __asm__("vpmaddubsw %2, %1, %0" : "=v"(of_pairs) : "v"(length), "v"(byte_ones));
    const doubles of_second_pair = of_pairs >> 16;
    quads of_four;
    quads of_eight;
    __asm__("vpsadbw %2, %1, %0"
            : "=v"(of_four)
            : "v"(reinterpret_cast<quads>(length) >> 32), "v"(zero));
    __asm__("vpsadbw %2, %1, %0" : "=v"(of_eight) : "v"(length), "v"(zero));
    // Within parts of 16 bytes: first their lower halves, then their upper ones.
    quads fours[2];
    words code;
    words bits;
    quads pair_bits;
    __asm__("vpunpcklbw %2, %1, %0" : "=v"(code) : "v"(low), "v"(high));
    __asm__("vpunpcklbw %2, %1, %0" : "=v"(bits) : "v"(of_second), "v"(zero));
    __asm__("vpunpckldq %2, %1, %0" : "=v"(pair_bits) : "v"(of_second_pair), "v"(zero));
    join_fours(fours[0], code, bits, pair_bits);
    __asm__("vpunpckhbw %2, %1, %0" : "=v"(code) : "v"(low), "v"(high));
    __asm__("vpunpckhbw %2, %1, %0" : "=v"(bits) : "v"(of_second), "v"(zero));
    __asm__("vpunpckhdq %2, %1, %0" : "=v"(pair_bits) : "v"(of_second_pair), "v"(zero));
    join_fours(fours[1], code, bits, pair_bits);
    // The first and the second four of each eight, in order.
    quads first;
    quads second;
    __asm__("vpunpcklqdq %2, %1, %0" : "=v"(first) : "v"(fours[0]), "v"(fours[1]));
    __asm__("vpunpckhqdq %2, %1, %0" : "=v"(second) : "v"(fours[0]), "v"(fours[1]));
    std::uint64_t* const top = to.top + place;
    std::uint64_t* const lengths = to.length + place;
    const quads limit = quads{} + huffman_runs::longest;
    unsigned any = 0;
    __asm__("vpcmpuq $6, %2, %1, %%k1\n\tkmovw %%k1, %0"  // greater
            : "=r"(any)
            : "v"(of_eight), "v"(limit)
            : "k1");
    if (any == 0) {
      const quads eights = (first << of_four | second) << (64 - of_eight);
      std::memcpy(top, &eights, width);
      std::memcpy(lengths, &of_eight, width);
      return place + 8;
    }
    const quads of_first = of_eight - of_four;
    write_fours(top, first << (64 - of_first), second << (64 - of_four));
    write_fours(lengths, of_first, of_four);
    return place + 16;
  }

  /// Words of 64 bits with the codes of fours, from words of 16 with one each. `bits`: of the
  /// second of each pair, and zero; `pair_bits`: of the second pair.
  [[gnu::target("avx512vbmi,bmi,bmi2")]] [[gnu::always_inline]] static void join_fours(
      quads& fours, const words& code, const words& bits, const quads& pair_bits) noexcept {
    const words zero{};
    const words ones = zero + 1;  // nvcc 13.0 fails on `words{} + 1`
    words power;
    quads pair;
    __asm__("vpsllvw %2, %1, %0" : "=v"(power) : "v"(ones), "v"(bits));
    __asm__("vpmaddwd %2, %1, %0" : "=v"(pair) : "v"(code), "v"(power));
    fours = (pair & 0xffffffff) << pair_bits | pair >> 32;
  }
  /// Those of two vectors in turn.
  [[gnu::target("avx512vbmi,bmi,bmi2")]] [[gnu::always_inline]] static void write_fours(
      std::uint64_t* to, const quads& first, const quads& second) noexcept {
    quads low = {0, 8, 1, 9, 2, 10, 3, 11};
    quads high = {4, 12, 5, 13, 6, 14, 7, 15};
    __asm__("vpermi2q %2, %1, %0" : "+v"(low) : "v"(first), "v"(second));
    __asm__("vpermi2q %2, %1, %0" : "+v"(high) : "v"(first), "v"(second));
    std::memcpy(to, &low, width);
    std::memcpy(to + 8, &high, width);
  }

  bytes low_[4];   ///< of the codes: eight bits
  bytes rest_[4];  ///< the others above the length
};

[[gnu::target("avx512vbmi,bmi,bmi2")]] inline void encode_streams_vbmi(
    const huffman_code& code, const huffman_entries& entries, huffman_stream* streams,
    std::size_t count) noexcept {
  const huffman_vbmi kernel(code);
  huffman_runs runs;
  for (std::size_t i = 0; i < count; ++i) {
    huffman_stream& one = streams[i];
    std::size_t left = one.from.size();
    huffman_tail out{one.to - huffman_stream::margin};
    for (; left % huffman_vbmi::width != 0; --left) {
      const std::uint64_t entry = entries.of[std::to_integer<std::size_t>(one.from[left - 1])];
      out.put(entry - (entry & 255), entry & 255);
      out.write();
    }
    while (left != 0) {
      const std::size_t size = std::min(left, huffman_vbmi::batch);
      left -= size;
      kernel.join(runs, one.from.data() + left, size);
      out.put(runs);
    }
    out.put(std::uint64_t{1} << 63, 1);
    out.write();
    one.size = out.count >> 3;
  }
}

#endif

ZARRPOINT_INLINE void encode_streams(const huffman_code& code, huffman_stream* streams,
                                     std::size_t count, huffman_kernel kernel) noexcept {
  const huffman_entries entries(code);
#if defined(__x86_64__) && defined(__GNUC__)
  if (kernel == huffman_kernel::avx512vbmi)
    return encode_streams_vbmi(code, entries, streams, count);
  if (kernel == huffman_kernel::avx2) return encode_streams_bmi2(entries, streams, count);
#endif
  static_cast<void>(kernel);
  encode_by_pairs(entries, streams, count);
}

/// Counts of all of it, from which those of a sample differ by the unit alone.
class byte_counter {
 public:
  void add(bytes_view from) noexcept {
    std::size_t i = 0;
    for (; i + 8 <= from.size(); i += 8) {
      const auto eight = load_le<std::uint64_t>(from.data() + i);
      // Written out: g++ makes a loop of it, which takes twice as long.
      ++counts_[0][eight & 255];
      ++counts_[1][eight >> 8 & 255];
      ++counts_[2][eight >> 16 & 255];
      ++counts_[3][eight >> 24 & 255];
      ++counts_[0][eight >> 32 & 255];
      ++counts_[1][eight >> 40 & 255];
      ++counts_[2][eight >> 48 & 255];
      ++counts_[3][eight >> 56];
    }
    for (; i < from.size(); ++i) ++counts_[0][std::to_integer<std::size_t>(from[i])];
  }
  byte_counts sum() const noexcept {
    byte_counts out;
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = counts_[0][i] + counts_[1][i] + counts_[2][i] + counts_[3][i];
    return out;
  }

 private:
  static constexpr std::size_t ways = 4;  // so that equal neighbours do not wait for each other
  std::array<byte_counts, ways> counts_{};
};

/// One for what occurs but was not counted.
inline void add_unseen(byte_counts& counts, bytes_view from) noexcept {
  std::array<std::uint8_t, 256> seen{};
  for (const std::byte one : from) seen[std::to_integer<std::size_t>(one)] = 1;
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (counts[i] == 0) counts[i] = seen[i];
}

#if defined(__x86_64__) && defined(__GNUC__)

/// A set of bytes: bit h % 8 at l of one of two rows stands for the byte of the digits h and l.
struct byte_set_avx2 {
  using vector [[gnu::vector_size(32)]] = std::uint8_t;
  static constexpr std::size_t width = sizeof(vector);

  std::uint8_t rows[2][width];

  explicit byte_set_avx2(const byte_counts& counts) noexcept : rows{} {
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts[i] != 0) add(i);
  }
  void add(std::size_t i) noexcept {
    const auto bit = static_cast<std::uint8_t>(1U << (i >> 4 & 7));
    rows[i >> 7][i & 15] |= bit;  // a permutation has its halves apart: twice
    rows[i >> 7][16 + (i & 15)] |= bit;
  }
  [[gnu::target("avx2,bmi,bmi2")]] static void look_up(vector& out, const vector& table,
                                                       const vector& at) noexcept {
    __asm__("vpshufb %2, %1, %0" : "=x"(out) : "x"(table), "x"(at));
  }
  /// How many bytes at `from`, a multiple of 32 up to `size`, are in the set, before a vector with
  /// one that is not.
  [[gnu::target("avx2,bmi,bmi2")]] std::size_t known(const std::byte* from,
                                                     std::size_t size) const noexcept {
    vector low_row;
    vector high_row;
    std::memcpy(&low_row, rows[0], width);
    std::memcpy(&high_row, rows[1], width);
    const vector powers = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128,
                           1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    std::size_t i = 0;
    for (; i + width <= size; i += width) {
      vector at;
      std::memcpy(&at, from + i, width);
      vector low;
      vector high;
      vector bit;
      look_up(low, low_row, at & 15);
      look_up(high, high_row, at & 15);
      look_up(bit, powers, at >> 4);
      using signed_vector [[gnu::vector_size(32)]] = std::int8_t;
      const vector row = reinterpret_cast<signed_vector>(at) < 0 ? high : low;
      int all = 0;
      const vector missing = (row & bit) == 0;
      __asm__("vpmovmskb %1, %0" : "=r"(all) : "x"(missing));
      if (all != 0) break;
    }
    return i;
  }
};

inline void add_unseen_avx2(byte_counts& counts, bytes_view from) noexcept {
  byte_set_avx2 set(counts);
  while (true) {
    from = from.subspan(set.known(from.data(), from.size()));
    if (from.empty()) return;
    for (const std::byte one : from.first(std::min(from.size(), byte_set_avx2::width))) {
      const auto i = std::to_integer<std::size_t>(one);
      if (counts[i] != 0) continue;
      counts[i] = 1;
      set.add(i);
    }
    if (from.size() < byte_set_avx2::width) return;
  }
}

#endif

ZARRPOINT_INLINE huffman_kernel best_huffman_kernel() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
  const auto has_bmi = [] {
    return __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  };
  if (__builtin_cpu_supports("avx2") && has_bmi())
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi")
               ? huffman_kernel::avx512vbmi
               : huffman_kernel::avx2;
#endif
  return huffman_kernel::portable;
}

ZARRPOINT_INLINE byte_counts sample_of(bytes_view from, std::size_t bytes) noexcept {
  constexpr std::size_t run = 64;
  byte_counter counter;
  const std::size_t runs = bytes / run;
  if (runs == 0 || 2 * runs * run > from.size()) {
    counter.add(from);
    return counter.sum();
  }
  // At random places: those at equal distances may all fall on one column of a matrix.
  const std::size_t step = from.size() / runs;
  std::uint64_t random = 1;
  for (std::size_t i = 0; i < runs; ++i) {
    random = random * 6364136223846793005 + 1442695040888963407;  // Knuth's
    const std::uint64_t skipped = (random >> 32) * (step - run) >> 32;
    counter.add(from.subspan(i * step + skipped, run));
  }
  return counter.sum();
}

ZARRPOINT_INLINE byte_counts sampled_counts(bytes_view from, huffman_kernel kernel) noexcept {
  // Of more symbols more must be seen: what a sample does not know costs half a bit a symbol.
  constexpr std::ptrdiff_t many = 64;
  byte_counts out = sample_of(from, good_sample);
  if (std::count(out.begin(), out.end(), 0U) < 256 - many) out = sample_of(from, 4 * good_sample);
#if defined(__x86_64__) && defined(__GNUC__)
  if (kernel != huffman_kernel::portable) {
    add_unseen_avx2(out, from);
    return out;
  }
#endif
  static_cast<void>(kernel);
  add_unseen(out, from);
  return out;
}

// ------------------------------------------------------------------------------ huffman_decode.hpp

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

// ------------------------------------------------------------------------------- zstd_literals.hpp

ZARRPOINT_INLINE literals_header literals_header::of(std::uint64_t type, std::size_t bytes,
                                                     std::size_t stored) noexcept {
  const std::size_t size = bytes < by_four ? 3 : bytes < 16384 ? 4 : 5;
  const std::uint64_t form = bytes < by_four ? 0 : size - 2;
  const unsigned bits = size == 3 ? 10 : size == 4 ? 14 : 18;
  return {type | form << 2 | bytes << 4 | std::uint64_t{stored} << (4 + bits), size};
}

/// Writes the blocks of one frame.
class zstd_literals_writer {
 public:
  zstd_literals_writer(bytes_view from, mutable_bytes to, mutable_bytes streams,
                       huffman_kernel kernel)
      : from_(from), to_(to), room_(to.size()), streams_(streams), kernel_(kernel) {}

  static constexpr std::size_t max_block = 128 << 10;
  static constexpr std::size_t stream_room =
      huffman_stream::margin + huffman_stream::bound(max_block / 4);

  /// The bytes of the frame; 0 when it does not fit.
  std::size_t run() {
    constexpr std::uint64_t magic = 0xfd2fb528;
    constexpr std::uint64_t single_segment = 0xa0;  // the content size in four bytes, no window
    if (!put(magic, 4) || !put(single_segment, 1) || !put(from_.size(), 4)) return 0;
    do {
      if (!group()) return 0;
    } while (!from_.empty());
    return room_ - to_.size();
  }

 private:
  enum block_type : std::uint64_t { raw, repeated, coded };

  /// Some blocks, which may have one code.
  bool group() {
    std::array<counted_block, counted_block::max_group> blocks;
    std::array<bytes_view, counted_block::max_group> parts;
    std::size_t count = 0;
    do {
      bytes_view& part = parts[count];
      part = from_.first(std::min(from_.size(), max_block));
      from_ = from_.subspan(part.size());
      counted_block& one = blocks[count++];
      one.counts = sampled_counts(part, kernel_);
      one.counted = std::accumulate(one.counts.begin(), one.counts.end(), std::uint64_t{0});
    } while (count < blocks.size() && !from_.empty());
    const bool is_shared = counted_block::choose_codes(blocks.data(), count);
    has_description_ = false;
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_last = from_.empty() && i + 1 == count;
      if (!is_shared) has_description_ = false;
      if (!write(blocks[i], parts[i], is_last)) return false;
    }
    return true;
  }

  bool write(const counted_block& one, bytes_view from, bool is_last) {
    if (from.empty()) return head(raw, 0, is_last);
    if (one.counts[std::to_integer<std::size_t>(from[0])] == one.counted)
      return head(repeated, from.size(), is_last) &&
             put(std::to_integer<std::uint64_t>(from[0]), 1);
    if (one.is_worthwhile()) {  // by what the sample says
      const std::size_t size = code_streams(from, one.code);
      if (size != 0) return size <= to_.size() && write_coded(from.size(), size, is_last);
    }
    if (!head(raw, from.size(), is_last) || from.size() > to_.size()) return false;
    std::memcpy(to_.data(), from.data(), from.size());
    to_ = to_.subspan(from.size());
    return true;
  }

  /// Makes the streams and, unless a block before has it, the description of the code. Returns the
  /// bytes of the block, or 0 when they are too many.
  std::size_t code_streams(bytes_view from, const huffman_code& code) {
    count_ = from.size() < literals_header::by_four ? 1 : 4;
    const std::size_t each = (from.size() + count_ - 1) / count_;
    description_size_ = has_description_ ? 0 : code.describe(description_);
    if (!has_description_ && description_size_ == 0) return 0;
    for (std::size_t i = 0; i < count_; ++i) {
      parts_[i].from = from.subspan(i * each, std::min(each, from.size() - i * each));
      parts_[i].to = streams_.data() + i * stream_room + huffman_stream::margin;
    }
    encode_streams(code, parts_.data(), count_, kernel_);
    const std::size_t stored = stored_bytes();
    const std::size_t size = literals_header::of(2, from.size(), stored).size + stored + 1;
    return size < from.size() ? size : 0;
  }
  std::size_t stored_bytes() const {
    std::size_t out = description_size_ + (count_ == 1 ? 0 : 6);
    for (std::size_t i = 0; i < count_; ++i) out += parts_[i].size;
    return out;
  }

  bool write_coded(std::size_t bytes, std::size_t size, bool is_last) {
    if (!head(coded, size, is_last) || size > to_.size()) return false;
    const auto before = literals_header::of(has_description_ ? 3 : 2, bytes, stored_bytes());
    put(before.value, before.size);
    put(bytes_view(description_).first(description_size_));
    has_description_ = true;
    for (std::size_t i = 0; i + 1 < count_; ++i) put(parts_[i].size, 2);
    for (std::size_t i = 0; i < count_; ++i) put(bytes_view(parts_[i].to, parts_[i].size));
    return put(0, 1);  // no sequences
  }

  bool head(block_type type, std::size_t size, bool is_last) {
    return put((is_last ? 1U : 0U) | type << 1 | size << 3, 3);
  }
  bool put(std::uint64_t value, std::size_t bytes) {
    if (to_.size() < bytes) return false;
    for (std::size_t i = 0; i < bytes; ++i) to_[i] = static_cast<std::byte>(value >> 8 * i & 255);
    to_ = to_.subspan(bytes);
    return true;
  }
  void put(bytes_view bytes) {
    if (!bytes.empty()) std::memcpy(to_.data(), bytes.data(), bytes.size());
    to_ = to_.subspan(bytes.size());
  }

  bytes_view from_;
  mutable_bytes to_;
  std::size_t room_;
  mutable_bytes streams_;
  huffman_kernel kernel_;
  // Of the block that is being written.
  std::array<huffman_stream, 4> parts_{};
  std::size_t count_ = 0;
  std::array<std::byte, huffman_code::max_description> description_{};
  std::size_t description_size_ = 0;
  bool has_description_ = false;  ///< whether a block before this one described the code
};

ZARRPOINT_INLINE result<std::size_t> encode_zstd_literals(bytes_view from, mutable_bytes to,
                                                          codec_workspace& scratch,
                                                          huffman_kernel kernel) {
  using writer = zstd_literals_writer;
  ZARRPOINT_TRY(streams, scratch.state<streams_memory>().get(4 * writer::stream_room));
  const std::size_t size = writer(from, to, streams, kernel).run();
  if (size == 0) return error{errc::out_of_range, "the frame does not fit"};
  return size;
}

/// The code of one worker, which treeless blocks use again.
class zstd_literals_state {
 public:
  explicit zstd_literals_state(memory_resource& from) : resource_(&from) {}

  /// Null when there is no memory for it.
  huffman_decoder* decoder() {
    if (memory_.empty()) {
      auto made = buffer::allocate(sizeof(huffman_decoder), *resource_);
      if (!made) return nullptr;
      memory_ = std::move(*made);
      decoder_ = new (memory_.data()) huffman_decoder;  // trivial: nothing to destroy
    }
    return decoder_;
  }

 private:
  memory_resource* resource_;
  buffer memory_;
  huffman_decoder* decoder_ = nullptr;
};

/// Makes the bytes.
struct zstd_literals_decoder {
  mutable_bytes to;
  huffman_decoder& decoder;

  mutable_bytes next(std::size_t size) {
    const mutable_bytes out = to.first(size);
    to = to.subspan(size);
    return out;
  }
  bool stored(bytes_view from) {
    std::copy_n(from.data(), from.size(), next(from.size()).data());
    return true;
  }
  bool repeated(bytes_view one, std::size_t size) {
    std::fill_n(next(size).data(), size, one.front());
    return true;
  }
  void code(const huffman_weights& weights) { decoder.set(weights); }
  template <std::size_t N>
  bool streams(const std::array<bytes_view, N>& parts, std::size_t size) {
    return decoder.decode(parts, next(size));
  }
};

ZARRPOINT_INLINE bool decode_zstd_literals(bytes_view frame, mutable_bytes to,
                                           codec_workspace& scratch, std::size_t least) {
  if (to.size() < least) return false;
  huffman_decoder* const decoder = scratch.state<zstd_literals_state>().decoder();
  if (decoder == nullptr) return false;
  zstd_literals_decoder out{to, *decoder};
  return zstd_literals_reader(frame, to.size(), out).run();
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/blosc/blosc_bodies.hpp>
#endif
