// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/pcodec/pco_bits.hpp>
#include <zarrpoint/memory/buffer.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

inline error pco_corrupt(std::string what) {
  return {errc::corrupt, "the stream of pcodec is damaged: " + std::move(what)};
}

/// Half of what `L` counts to, where signed numbers have their 0.
template <class L>
inline constexpr L pco_middle = static_cast<L>(L{1} << (sizeof(L) * 8 - 1));

/// Uninitialised memory for `count` objects that need no constructor.
template <class T>
result<T*> pco_allocate(buffer& held, std::size_t count, memory_resource& memory) {
  static_assert(std::is_trivial_v<T>);
  ZARRPOINT_TRY(made, buffer::allocate(count * sizeof(T), memory));
  held = std::move(made);
  return reinterpret_cast<T*>(held.bytes().data());
}

/// A state of the table of a variable: where the bin of a number begins, and what comes next.
template <class L>
struct pco_state {
  L lower;
  std::uint16_t next;
  std::uint8_t next_bits;
  std::uint8_t offset_bits;
};

/// The numbers of one variable before their deltas are undone: bins in a table of tANS, and
/// offsets.
template <class L>
class pco_variable {
 public:
  /// Of the metadata of a chunk. `added` goes to each number.
  result<void> read_bins(pco_reader& from, L added, memory_resource& memory) {
    ZARRPOINT_TRY(log, from.read(4));
    ZARRPOINT_TRY(count, from.read(15));
    const std::uint64_t states = std::uint64_t{1} << log;
    if (log > pco_max_size_log || count > states || (count < 2 && log != 0))
      return pco_corrupt(std::to_string(count) + " bins in a table of " + std::to_string(states) +
                         " states");
    size_log_ = static_cast<unsigned>(log);
    bins_ = static_cast<std::size_t>(count);
    buffer held;
    ZARRPOINT_TRY(bins, pco_allocate<bin>(held, bins_ + 1, memory));
    ZARRPOINT_TRY(table, pco_allocate<pco_state<L>>(table_, std::size_t{1} << log, memory));
    std::uint64_t total = 0;
    bins[0] = {0, 1, 0};
    for (std::size_t i = 0; i < bins_; ++i) {
      constexpr unsigned bits = sizeof(L) * 8;
      ZARRPOINT_TRY(weight, from.read(size_log_));
      ZARRPOINT_TRY(lower, from.read(bits));
      ZARRPOINT_TRY(width, from.read(std::bit_width(bits)));
      if (width > bits)
        return pco_corrupt(std::to_string(width) + " bits of an offset of " + std::to_string(bits));
      bins[i] = {static_cast<L>(lower + added), static_cast<std::uint32_t>(weight + 1),
                 static_cast<std::uint8_t>(width)};
      widest_offset_ = std::max(widest_offset_, static_cast<unsigned>(width));
      total += weight + 1;
    }
    if (total != states && bins_ != 0)
      return pco_corrupt("the weights of its bins are not as many as its states");
    fill_table(table, bins);
    return {};
  }

  /// Of the head of a page.
  result<void> read_states(pco_reader& from) {
    for (std::uint32_t& one : at_) {
      ZARRPOINT_TRY(state, from.read(size_log_));
      one = static_cast<std::uint32_t>(state);
    }
    return {};
  }

  result<void> read_batch(pco_reader& from, L* to, std::size_t count) {
    if (count == 0) return {};
    if (bins_ == 0) return pco_corrupt("numbers without a bin");
    std::size_t bit = 0;
    const std::size_t room = count * (size_log_ + widest_offset_) / 8 + 24;
    const std::byte* const data = from.ahead(room, bit);
    return from.skip_to(read_at(data, bit, to, count));
  }

 private:
  struct bin {
    L lower;
    std::uint32_t weight;
    std::uint8_t offset_bits;
  };
  const pco_state<L>* table() const {
    return reinterpret_cast<const pco_state<L>*>(table_.bytes().data());
  }

  /// States go to the bins by steps of about three fifths of the table; those of a bin are counted
  /// from its weight on, and the count says how many bits lead to the next state.
  void fill_table(pco_state<L>* table, bin* bins) const {
    const std::uint32_t states = std::uint32_t{1} << size_log_;
    const std::uint32_t stride = 3 * states / 5 | 1;
    std::uint32_t at = 0;
    for (std::size_t i = 0; i < std::max<std::size_t>(bins_, 1); ++i) {
      for (std::uint32_t k = 0; k < bins[i].weight; ++k) {
        table[at].next = static_cast<std::uint16_t>(i);
        at = (at + stride) & (states - 1);
      }
    }
    for (std::uint32_t i = 0; i < states; ++i) {
      bin& of = bins[table[i].next];
      const std::uint32_t counted = of.weight++;
      const auto bits = size_log_ + 1 - static_cast<unsigned>(std::bit_width(counted));
      table[i] = {of.lower, static_cast<std::uint16_t>((counted << bits) - states),
                  static_cast<std::uint8_t>(bits), of.offset_bits};
    }
  }

  std::size_t read_at(const std::byte* data, std::size_t bit, L* to, std::size_t count) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("bmi2")) return read_bmi2(data, bit, to, count);
#endif
    return read_here(data, bit, to, count);
  }
#if defined(__x86_64__) && defined(__GNUC__)
  // Shifts by a number in any register: up to twice as fast.
  [[gnu::target("bmi,bmi2")]] std::size_t read_bmi2(const std::byte* data, std::size_t bit, L* to,
                                                    std::size_t count) {
    return read_here(data, bit, to, count);
  }
#endif
  [[gnu::always_inline]] inline std::size_t read_here(const std::byte* data, std::size_t bit, L* to,
                                                      std::size_t count) {
    std::array<std::uint32_t, pco_batch> widths;
    if (bins_ == 1) {
      const pco_state<L>& only = *table();
      std::fill_n(to, count, only.lower);
      std::fill_n(widths.data(), count, only.offset_bits);
    } else {
      bit = read_bins_of_batch(data, bit, to, widths.data(), count);
    }
    if (widest_offset_ == 0) return bit;
    return widest_offset_ > 57 ? add_offsets<true>(data, bit, to, widths.data(), count)
                               : add_offsets<false>(data, bit, to, widths.data(), count);
  }

  [[gnu::always_inline]] inline std::size_t read_bins_of_batch(const std::byte* data,
                                                               std::size_t bit, L* to,
                                                               std::uint32_t* widths,
                                                               std::size_t count) {
    const pco_state<L>* const states = table();
    auto [a, b, c, d] = at_;
    std::uint64_t word = 0;
    unsigned past = 0;
    const auto step = [&](std::uint32_t & at, std::size_t i) __attribute__((always_inline)) {
      const pco_state<L>& state = states[at];
      to[i] = state.lower;
      widths[i] = state.offset_bits;
      at = state.next + (static_cast<std::uint32_t>(word >> past) & ((1U << state.next_bits) - 1));
      past += state.next_bits;
    };
    const auto load = [&]() __attribute__((always_inline)) {
      word = load_le<std::uint64_t>(data + bit / 8);
      past = static_cast<unsigned>(bit % 8);
      bit -= past;
    };
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) {  // at most 7 + 4 * 14 bits
      load();
      step(a, i);
      step(b, i + 1);
      step(c, i + 2);
      step(d, i + 3);
      bit += past;
    }
    load();
    if (i < count) step(a, i++);
    if (i < count) step(b, i++);
    if (i < count) step(c, i++);
    bit += past;
    at_ = {a, b, c, d};
    return bit;
  }

  /// `Wide`: an offset may have more bits than a word that begins at any bit of a byte.
  template <bool Wide>
  [[gnu::always_inline]] static inline std::size_t add_offsets(const std::byte* data,
                                                               std::size_t bit, L* to,
                                                               const std::uint32_t* widths,
                                                               std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const unsigned width = widths[i];
      const std::byte* const at = data + bit / 8;
      const auto past = static_cast<unsigned>(bit % 8);
      std::uint64_t word = load_le<std::uint64_t>(at) >> past;
      std::uint64_t mask = (std::uint64_t{1} << (width & 63)) - 1;
      if constexpr (Wide) {
        word |= std::to_integer<std::uint64_t>(at[8]) << 1 << (63 - past);
        mask |= 0 - std::uint64_t{width >> 6};
      }
      to[i] = static_cast<L>(to[i] + (word & mask));
      bit += width;
    }
    return bit;
  }

  buffer table_;
  std::size_t bins_ = 0;
  unsigned size_log_ = 0;
  unsigned widest_offset_ = 0;
  std::array<std::uint32_t, 4> at_{};
};

}}}  // namespace zarrpoint::v0::detail
