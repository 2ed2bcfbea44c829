// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

// The bits of a stream of pco, the lowest of a byte first, and which types of numbers it has.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// How a number becomes an unsigned integer of the same order and back.
enum class pco_order : std::uint8_t { unsigned_integer, signed_integer, floating };

/// A type of numbers of pco (its format, "Standalone Format").
struct pco_type {
  std::uint8_t code = 0;  ///< in the stream
  std::uint8_t size = 0;  ///< bytes of a number
  pco_order order = pco_order::unsigned_integer;
};

/// The type of pco for elements of `type`; nothing when it has none.
std::optional<pco_type> pco_type_of(const dtype& type);

inline constexpr std::size_t pco_batch = 256;     ///< numbers that are coded together
inline constexpr unsigned pco_max_size_log = 14;  ///< log2 of the states of a table, at most
inline constexpr std::uint64_t pco_max_chunk = 1U << 24;  ///< numbers of a chunk of pco, at most

/// A number as an unsigned integer of the same order, and back: `bits` are those of the number.
/// Without branches, so that loops over it become vector code.
template <class L>
constexpr L pco_ordered(L bits, pco_order order) noexcept {
  constexpr int top = sizeof(L) * 8 - 1;
  constexpr L middle = static_cast<L>(L{1} << top);
  if (order == pco_order::unsigned_integer) return bits;
  if (order == pco_order::signed_integer) return static_cast<L>(bits ^ middle);
  return static_cast<L>(bits ^ (static_cast<L>(0 - (bits >> top)) | middle));
}
template <class L>
constexpr L pco_number(L ordered, pco_order order) noexcept {
  constexpr int top = sizeof(L) * 8 - 1;
  constexpr L middle = static_cast<L>(L{1} << top);
  if (order == pco_order::unsigned_integer) return ordered;
  if (order == pco_order::signed_integer) return static_cast<L>(ordered ^ middle);
  return static_cast<L>(ordered ^ (static_cast<L>((ordered >> top) - 1) | middle));
}

/// Reads a stream; each read is checked against its end.
class pco_reader {
 public:
  /// The most bytes that `ahead` is asked for: a batch of the widest numbers in a table of the
  /// most states, and a word behind them.
  static constexpr std::size_t max_ahead = pco_batch * (64 + pco_max_size_log) / 8 + 24;

  explicit pco_reader(bytes_view from) : from_(from) {}

  /// The next `width` bits, of at most 64. Errors: `corrupt`.
  result<std::uint64_t> read(unsigned width);
  /// Goes to the end of the byte; the bits up to there must be 0.
  result<void> align();
  /// The bits that are left.
  std::uint64_t left() const noexcept { return from_.size() * 8 - at_; }

  /// Memory from the current byte on, of `bytes` bytes at least: those after the end are 0. The
  /// first `offset` bits of it have been read.
  const std::byte* ahead(std::size_t bytes, std::size_t& offset);
  /// Goes on to the bit at `offset` of the memory of `ahead`. Errors: `corrupt` after the end.
  result<void> skip_to(std::size_t offset);

 private:
  static error truncated() { return {errc::corrupt, "the stream of pcodec is truncated"}; }

  bytes_view from_;
  std::uint64_t at_ = 0;
  std::byte tail_[max_ahead];
};

/// Writes a stream into memory that has room for it and 8 bytes more.
class pco_writer {
 public:
  explicit pco_writer(std::byte* to) : begin_(to), to_(to) {}

  /// The `width` lowest bits of `bits`, of at most 64; those above are 0.
  void write(std::uint64_t bits, unsigned width) noexcept;
  /// Fills the byte with 0.
  void align() noexcept;
  /// Bytes written, whole ones.
  std::size_t size() const noexcept { return static_cast<std::size_t>(to_ - begin_); }

 private:
  std::byte* begin_;
  std::byte* to_;
  std::uint64_t word_ = 0;
  unsigned used_ = 0;  // of `word_`, less than 8
};

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

  /// States go to the bins by steps of about three fifths of the table. Those of a bin are counted
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

/// How the numbers of a chunk are told by those before them.
struct pco_delta {
  enum class kind : std::uint8_t { none, consecutive, lookback, conv1 };
  static constexpr std::size_t max_weights = 32;

  kind how = kind::none;
  bool of_secondary = false;
  std::size_t order = 0;      ///< numbers that a page has as they are
  std::uint32_t window = 0;   ///< the furthest lookback
  unsigned quantization = 0;  ///< bits after the point of `bias` and `weights`
  std::uint64_t bias = 0;     ///< in two's complement, and so are the weights
  std::array<std::uint64_t, max_weights> weights{};

  static result<pco_delta> read(pco_reader& from, unsigned version) {
    pco_delta out;
    if (version < 3) {
      ZARRPOINT_TRY(order, from.read(3));
      out.order = static_cast<std::size_t>(order);
      out.how = order == 0 ? kind::none : kind::consecutive;
      return out;
    }
    ZARRPOINT_TRY(variant, from.read(4));
    if (variant > 3) return pco_corrupt("delta encoding " + std::to_string(variant));
    out.how = static_cast<kind>(variant);
    if (out.how == kind::consecutive) {
      ZARRPOINT_TRY(order, from.read(3));
      ZARRPOINT_TRY(both, from.read(1));
      if (order == 0) return pco_corrupt("deltas of order 0");
      out.order = static_cast<std::size_t>(order);
      out.of_secondary = both != 0;
    } else if (out.how == kind::lookback) {
      ZARRPOINT_TRY(window_log, from.read(5));
      ZARRPOINT_TRY(state_log, from.read(4));
      ZARRPOINT_TRY(both, from.read(1));
      if (window_log > 23 || state_log > window_log + 1)
        return pco_corrupt("a window of 2^" + std::to_string(window_log + 1) + " numbers");
      out.window = std::uint32_t{2} << window_log;
      out.order = std::size_t{1} << state_log;
      out.of_secondary = both != 0;
    } else if (out.how == kind::conv1) {
      ZARRPOINT_CHECK(out.read_weights(from));
    }
    return out;
  }

  /// Whether sums of weighed numbers of `L` stay within the signed type that is twice as wide.
  template <class L>
  bool holds_sums() const {
    if (sizeof(L) == 8) return false;
    constexpr unsigned bits = sizeof(L) * 16;
    double most = std::abs(static_cast<double>(static_cast<std::int64_t>(bias)));
    for (std::size_t i = 0; i < order; ++i)
      most += std::ldexp(std::abs(static_cast<double>(static_cast<std::int64_t>(weights[i]))),
                         static_cast<int>(sizeof(L) * 8));
    return quantization < bits && most < std::ldexp(1.0, bits - 1);
  }

 private:
  result<void> read_weights(pco_reader& from) {
    ZARRPOINT_TRY(shift, from.read(5));
    ZARRPOINT_TRY(added, from.read(64));
    ZARRPOINT_TRY(count, from.read(5));
    quantization = static_cast<unsigned>(shift);
    bias = added ^ pco_middle<std::uint64_t>;
    order = static_cast<std::size_t>(count) + 1;
    for (std::size_t i = 0; i < order; ++i) {
      ZARRPOINT_TRY(weight, from.read(32));
      weights[i] = weight - pco_middle<std::uint32_t>;
    }
    return {};
  }
};

/// The numbers of one variable with their deltas undone.
template <class L>
class pco_sequence {
 public:
  pco_sequence(const pco_delta& delta, bool has_delta) {
    if (has_delta) delta_ = delta;
  }
  result<void> read_bins(pco_reader& from, memory_resource& memory) {
    // Deltas are signed.
    const bool is_signed = delta_.how != pco_delta::kind::none;
    return coded_.read_bins(from, is_signed ? pco_middle<L> : L{}, memory);
  }
  /// Of the head of a page of `count` numbers.
  result<void> read_state(pco_reader& from, std::size_t count, memory_resource& memory) {
    L* state = few_.data();
    if (delta_.how == pco_delta::kind::lookback) {
      if (from.left() / (sizeof(L) * 8) < delta_.order)
        return pco_corrupt("it is shorter than its window");
      ZARRPOINT_TRY(all, pco_allocate<L>(all_, std::max(count, delta_.order), memory));
      state = all;
    }
    for (std::size_t i = 0; i < delta_.order; ++i) {
      ZARRPOINT_TRY(one, from.read(sizeof(L) * 8));
      state[i] = static_cast<L>(one);
    }
    return coded_.read_states(from);
  }

  /// The next batch of the `left` numbers of a page that are left. The last `delta_.order` of a
  /// page are not coded: those before them lead to them.
  result<void> read_batch(pco_reader& from, std::size_t left, const std::uint32_t* lookbacks,
                          L* to) {
    const std::size_t count = std::min(left, pco_batch);
    const std::size_t coded = std::min(left - std::min(left, delta_.order), pco_batch);
    ZARRPOINT_CHECK(coded_.read_batch(from, to, coded));
    if (delta_.how == pco_delta::kind::none) return {};
    std::fill(to + coded, to + count, L{});
    if (delta_.how == pco_delta::kind::lookback) return look_back(to, count, lookbacks, coded);
    if (delta_.how == pco_delta::kind::conv1) {
      convolve(to, count);
    } else {
      add_up(to, count);
    }
    return {};
  }

 private:
  void add_up(L* to, std::size_t count) {
    std::size_t k = delta_.order;
    for (; k > 1; k -= 2) {  // two orders at once
      L sum = few_[k - 2];
      L inner = few_[k - 1];
      for (std::size_t i = 0; i < count; ++i) {
        const L step = to[i];
        to[i] = sum;
        sum = static_cast<L>(sum + inner);
        inner = static_cast<L>(inner + step);
      }
      few_[k - 2] = sum;
      few_[k - 1] = inner;
    }
    if (k == 1) {
      L sum = few_[0];
      for (std::size_t i = 0; i < count; ++i) {
        const L step = to[i];
        to[i] = sum;
        sum = static_cast<L>(sum + step);
      }
      few_[0] = sum;
    }
  }

  void convolve(L* to, std::size_t count) {
    const std::size_t order = delta_.order;
    std::array<L, pco_delta::max_weights + pco_batch> all;
    std::copy_n(few_.data(), order, all.data());
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t sum = delta_.bias;
      for (std::size_t k = 0; k < order; ++k) sum += delta_.weights[k] * all[i + k];
      const auto told = std::max<std::int64_t>(static_cast<std::int64_t>(sum), 0);
      all[order + i] = static_cast<L>(to[i] + static_cast<L>(told >> delta_.quantization));
    }
    std::copy_n(all.data(), count, to);
    std::copy_n(all.data() + count, order, few_.data());
  }

  result<void> look_back(L* to, std::size_t count, const std::uint32_t* lookbacks,
                         std::size_t coded) {
    L* const all = reinterpret_cast<L*>(all_.bytes().data());
    std::size_t next = given_ + delta_.order;
    for (std::size_t i = 0; i < coded; ++i, ++next) {
      const std::uint32_t back = lookbacks[i];
      if (back - 1 >= delta_.window) return pco_corrupt("a lookback is outside its window");
      // Before the first number there are zeros.
      all[next] = static_cast<L>(to[i] + (back <= next ? all[next - back] : L{}));
    }
    std::copy_n(all + given_, count, to);
    given_ += count;
    return {};
  }

  pco_variable<L> coded_;
  pco_delta delta_;
  std::array<L, pco_delta::max_weights> few_{};  // the state, but of lookbacks
  buffer all_;                                   // all numbers of a page, for lookbacks
  std::size_t given_ = 0;
};

/// Reads a file of pco of any version (its format, "Standalone Format") into `to`, which is as long
/// as its numbers and need not be aligned. Memory beside that is a table of at most 512 KiB for
/// each of up to three variables, and a dictionary as long as the stream has it. With lookbacks it
/// is as much as the numbers have, twice at most. Errors: `corrupt`, `unsupported` for a later
/// version, `resource_limit`.
result<void> pco_decode(bytes_view stored, const pco_type& type, mutable_bytes to,
                        memory_resource& memory);

/// How numbers are written: in classic mode, with consecutive deltas.
struct pco_plan {
  pco_type type;
  std::optional<unsigned> order;   ///< of the deltas, 7 at most; nothing: chosen for each chunk
  std::uint64_t chunk = 1U << 18;  ///< numbers of a chunk of pco, at least 1
  bool one_bin = false;            ///< do not look for bins
};

/// The most bytes that `pco_encode` takes for `count` numbers; UINT64_MAX when that overflows.
std::uint64_t pco_bound(const pco_plan& plan, std::uint64_t count);

/// Writes the numbers of `from` as a file of pco, in the format that all its readers since 0.3
/// have, into a `to` of `pco_bound` bytes; returns the bytes written.
result<std::size_t> pco_encode(const pco_plan& plan, bytes_view from, mutable_bytes to,
                               memory_resource& memory);

}}}  // namespace zarrpoint::v0::detail
