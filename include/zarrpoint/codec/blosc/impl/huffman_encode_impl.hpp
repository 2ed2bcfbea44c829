// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/blosc/huffman_encode.hpp>
#include <zarrpoint/core/bytes.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

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

}}}  // namespace zarrpoint::v0::detail
