// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/pcodec/pco_encode.hpp>
#include <zarrpoint/codec/pcodec/pco_variable.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

// Bins are found from quantiles of a sample and joined where that is shorter. A chunk for which
// they do not pay is written with one bin, so that no chunk is much longer than its numbers.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// The bins of a chunk and the table in which they are coded.
template <class L>
class pco_bins {
 public:
  static constexpr std::size_t most = 128;
  struct bin {
    L lower;
    L upper;
    std::size_t count;
    std::uint32_t weight;
    unsigned width() const { return static_cast<unsigned>(std::bit_width(L(upper - lower))); }
  };

  std::size_t size() const { return size_; }
  unsigned size_log() const { return size_log_; }
  const bin& operator[](std::size_t i) const { return bins_[i]; }

  /// One bin for all of `numbers`.
  void make_one(const L* numbers, std::size_t count) {
    size_log_ = 0;
    size_ = count == 0 ? 0 : 1;
    if (count == 0) return;
    const auto [low, high] = std::minmax_element(numbers, numbers + count);
    bins_[0] = {*low, *high, count, 1};
  }

  /// Bins for `numbers`, of which there is one; `which` becomes the bin of each. `sample` has room
  /// for `sample_size` numbers.
  static constexpr std::size_t sample_size = 8192;
  void find(const L* numbers, std::size_t count, L* sample, std::uint8_t* which) {
    std::array<L, most> lowers;
    const std::size_t found = find_lowers(numbers, count, sample, lowers);
    std::array<bin, most> raw;
    for (std::size_t i = 0; i < found; ++i) raw[i] = {static_cast<L>(~L{}), 0, 0, 0};
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t at = 0;
      for (std::size_t step = most / 2; step > 0; step /= 2)
        at += step & (0 - std::size_t{lowers[at + step] <= numbers[i]});  // no branch
      at = std::min(at, found - 1);
      bin& of = raw[at];
      of.lower = std::min(of.lower, numbers[i]);
      of.upper = std::max(of.upper, numbers[i]);
      ++of.count;
      which[i] = static_cast<std::uint8_t>(at);
    }
    std::array<std::uint8_t, most> joined;
    join(raw, found, count, joined);
    for (std::size_t i = 0; i < count; ++i) which[i] = joined[which[i]];
    weigh(count);
  }

  /// Where the states of each bin are, by `states_[starts_[bin] + k]`.
  void spread() {
    const std::uint32_t states = std::uint32_t{1} << size_log_;
    const std::uint32_t stride = 3 * states / 5 | 1;
    std::uint32_t at = 0;
    std::uint32_t start = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      starts_[i] = start;
      for (std::uint32_t k = 0; k < bins_[i].weight; ++k) {
        states_[start + k] = static_cast<std::uint16_t>(at);
        at = (at + stride) & (states - 1);
      }
      std::sort(states_.begin() + start, states_.begin() + start + bins_[i].weight);
      start += bins_[i].weight;
    }
  }
  /// Goes from `state` back to one of bin `i`; returns the bits in between, and their number above.
  std::uint32_t step_back(std::uint32_t& state, std::size_t i) const {
    const std::uint32_t weight = bins_[i].weight;
    const std::uint32_t whole = state + (std::uint32_t{1} << size_log_);
    unsigned bits = size_log_ + 1 - static_cast<unsigned>(std::bit_width(weight));
    bits -= unsigned{whole >> bits < weight};  // no branch
    state = states_[starts_[i] + (whole >> bits) - weight];
    return bits << 16 | (whole & ((1U << bits) - 1));
  }

 private:
  static constexpr unsigned max_size_log = 10;

  /// The numbers with which bins begin: the least, and quantiles; one that takes several
  /// quantiles has a bin of its own.
  static std::size_t find_lowers(const L* numbers, std::size_t count, L* sample,
                                 std::array<L, most>& to) {
    const std::size_t stride = (count + sample_size - 1) / sample_size;
    std::size_t taken = 0;
    for (std::size_t i = 0; i < count; i += stride) sample[taken++] = numbers[i];
    std::sort(sample, sample + taken);
    const int digits = std::clamp(static_cast<int>(std::bit_width(count)) / 2 - 1, 0, 6);
    const std::size_t wanted = std::size_t{1} << digits;
    to.fill(static_cast<L>(~L{}));
    to[0] = 0;
    std::size_t found = 1;
    for (std::size_t i = 1; i < wanted; ++i) {
      const L value = sample[i * taken / wanted];
      if (value > to[found - 1]) {
        to[found++] = value;
      } else if (value == to[found - 1] && value != static_cast<L>(~L{})) {
        to[found++] = static_cast<L>(value + 1);
      }
    }
    return found;
  }

  /// Bits of the numbers of a bin, and of itself.
  static double cost(const bin& of, std::size_t count) {
    const double states = std::log2(static_cast<double>(count) / static_cast<double>(of.count));
    return static_cast<double>(of.count) * (states + of.width()) + sizeof(L) * 8 + 16;
  }
  /// Neighbours that are shorter as one become one.
  void join(const std::array<bin, most>& raw, std::size_t found, std::size_t count,
            std::array<std::uint8_t, most>& joined) {
    size_ = 0;
    std::array<std::size_t, most> firsts;
    for (std::size_t i = 0; i < found; ++i) {
      joined[i] = 0;
      if (raw[i].count == 0) continue;
      bin next = raw[i];
      std::size_t first = i;
      while (size_ > 0) {
        const bin& last = bins_[size_ - 1];
        const bin both{last.lower, next.upper, last.count + next.count, 0};
        if (cost(both, count) > cost(last, count) + cost(next, count)) break;
        next = both;
        first = firsts[--size_];
      }
      firsts[size_] = first;
      bins_[size_++] = next;
    }
    for (std::size_t i = 0; i < size_; ++i) {
      const std::size_t end = i + 1 < size_ ? firsts[i + 1] : found;
      std::fill(joined.begin() + firsts[i], joined.begin() + end, static_cast<std::uint8_t>(i));
    }
  }

  /// Weights as the counts are, with the sum of a power of two.
  void weigh(std::size_t count) {
    size_log_ =
        size_ == 1 ? 0 : std::min(static_cast<unsigned>(std::bit_width(size_)) + 3, max_size_log);
    const std::uint64_t states = std::uint64_t{1} << size_log_;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      const std::uint64_t share = bins_[i].count * states / count;
      bins_[i].weight = static_cast<std::uint32_t>(std::max<std::uint64_t>(share, 1));
      sum += bins_[i].weight;
    }
    for (; sum != states; sum < states ? ++sum : --sum) {
      bin& largest =
          *std::max_element(bins_.begin(), bins_.begin() + static_cast<std::ptrdiff_t>(size_),
                            [](const bin& a, const bin& b) { return a.weight < b.weight; });
      sum < states ? ++largest.weight : --largest.weight;
    }
  }

  std::array<bin, most> bins_;
  std::array<std::uint32_t, most> starts_;
  std::array<std::uint16_t, 1U << max_size_log> states_;
  std::size_t size_ = 0;
  unsigned size_log_ = 0;
};

/// Memory for the numbers of one chunk.
template <class L>
struct pco_room {
  L* numbers;
  L* sample;             // also for deltas that are tried
  std::uint8_t* which;   // the bin of each number
  std::uint32_t* codes;  // of the states between the bins
};

/// Writes one chunk.
template <class L>
class pco_chunk_writer {
 public:
  pco_chunk_writer(const pco_plan& plan, const pco_room<L>& room, pco_writer& to)
      : plan_(plan), room_(room), to_(to) {}

  void write(const std::byte* from, std::size_t count) {
    std::memcpy(room_.numbers, from, count * sizeof(L));
    for (std::size_t i = 0; i < count; ++i)
      room_.numbers[i] = pco_ordered(room_.numbers[i], plan_.type.order);
    to_.write(plan_.type.code, 8);
    to_.write(count - 1, 24);
    take_deltas(count);
    if (plan_.one_bin || coded_ == 0 || !find_bins()) {
      bins_.make_one(room_.numbers, coded_);
      bins_.spread();
      if (coded_ != 0) std::memset(room_.which, 0, coded_);
      for (std::size_t i = 0; i < coded_; ++i) room_.codes[i] = 0;
      heads_ = {};
    }
    write_head();
    for (std::size_t at = 0; at < coded_; at += pco_batch)
      write_batch(at, std::min(at + pco_batch, coded_));
    to_.align();
  }

 private:
  static constexpr unsigned bits = sizeof(L) * 8;

  static void difference(L* numbers, std::size_t count) {
    for (std::size_t i = 0; i + 1 < count; ++i)
      numbers[i] = static_cast<L>(numbers[i + 1] - numbers[i]);
  }

  void take_deltas(std::size_t count) {
    order_ = plan_.order ? std::min(*plan_.order, 7U) : choose_order(count);
    coded_ = count;
    for (unsigned k = 0; k < order_; ++k) {
      state_[k] = coded_ == 0 ? L{} : room_.numbers[0];
      difference(room_.numbers, coded_);
      if (coded_ > 0) --coded_;
    }
    if (order_ == 0) return;
    for (std::size_t i = 0; i < coded_; ++i)
      room_.numbers[i] = static_cast<L>(room_.numbers[i] + pco_middle<L>);
  }

  /// The order whose deltas lie closest together, of a run in the middle.
  unsigned choose_order(std::size_t count) const {
    const std::size_t some = std::min(count, pco_bins<L>::sample_size / 2);
    L* const tried = room_.sample;
    L* const sorted = tried + some;
    std::copy_n(room_.numbers + (count - some) / 2, some, tried);
    unsigned best = 0;
    double least = 0;
    for (unsigned order = 0; order < 4 && some > order + 16; ++order) {
      const std::size_t left = some - order;
      for (std::size_t i = 0; i < left; ++i)
        sorted[i] = static_cast<L>(tried[i] + (order == 0 ? L{} : pco_middle<L>));
      std::nth_element(sorted, sorted + left / 2, sorted + left);
      const L middle = sorted[left / 2];
      std::size_t sum = 0;
      for (std::size_t i = 0; i < left; ++i)
        sum += static_cast<std::size_t>(
            std::bit_width(L(sorted[i] < middle ? middle - sorted[i] : sorted[i] - middle)));
      const double mean = static_cast<double>(sum) / static_cast<double>(left);
      if (order == 0 || mean < least - 0.1) {
        best = order;
        least = mean;
      }
      difference(tried, left);
    }
    return best;
  }

  /// Whether several bins are shorter than one.
  bool find_bins() {
    bins_.find(room_.numbers, coded_, room_.sample, room_.which);
    if (bins_.size() == 1) return false;
    bins_.spread();
    heads_ = {};
    std::uint64_t length = bins_.size() * (bins_.size_log() + bits + 7) + 4 * bins_.size_log();
    for (std::size_t i = coded_; i-- > 0;) {
      room_.codes[i] = bins_.step_back(heads_[i % 4], room_.which[i]);
      length += (room_.codes[i] >> 16) + bins_[room_.which[i]].width();
    }
    L low = bins_[0].lower;
    L high = bins_[bins_.size() - 1].upper;
    const std::uint64_t one = coded_ * static_cast<unsigned>(std::bit_width(L(high - low)));
    return length < one;
  }

  void write_head() {
    to_.write(0, 4);  // classic
    to_.write(order_, 3);
    to_.write(bins_.size_log(), 4);
    to_.write(bins_.size(), 15);
    for (std::size_t i = 0; i < bins_.size(); ++i) {
      to_.write(bins_[i].weight - 1, bins_.size_log());
      to_.write(bins_[i].lower, bits);
      to_.write(bins_[i].width(), static_cast<unsigned>(std::bit_width(bits)));
    }
    to_.align();
    for (unsigned k = 0; k < order_; ++k) to_.write(state_[k], bits);
    for (const std::uint32_t head : heads_) to_.write(head, bins_.size_log());
    to_.align();
  }

  void write_batch(std::size_t begin, std::size_t end) {
    if (bins_.size() > 1) {
      for (std::size_t i = begin; i < end; ++i)
        to_.write(room_.codes[i] & 0xffff, room_.codes[i] >> 16);
    }
    for (std::size_t i = begin; i < end; ++i) {
      const auto& of = bins_[room_.which[i]];
      to_.write(static_cast<L>(room_.numbers[i] - of.lower), of.width());
    }
  }

  const pco_plan& plan_;
  const pco_room<L>& room_;
  pco_writer& to_;
  pco_bins<L> bins_;
  std::array<std::uint32_t, 4> heads_{};
  std::array<L, 7> state_{};
  std::size_t coded_ = 0;
  unsigned order_ = 0;
};

inline std::uint64_t pco_chunk_size(const pco_plan& plan) {
  return std::clamp<std::uint64_t>(plan.chunk, 1, pco_max_chunk);
}
/// How many chunks, as equal as can be.
inline std::uint64_t pco_chunk_count(const pco_plan& plan, std::uint64_t count) {
  return count == 0 ? 0 : (count - 1) / pco_chunk_size(plan) + 1;
}

ZARRPOINT_INLINE std::uint64_t pco_bound(const pco_plan& plan, std::uint64_t count) {
  // Of a chunk: its head and one bin with 20 bytes at most, seven numbers as they are, and filled
  // bytes; of a file: its head, its end, and a word for the writer.
  constexpr std::uint64_t file = 40;
  constexpr std::uint64_t chunk = 96;
  std::uint64_t numbers = 0;
  std::uint64_t heads = 0;
  std::uint64_t out = 0;
  if (__builtin_mul_overflow(count, std::uint64_t{plan.type.size}, &numbers) ||
      __builtin_mul_overflow(pco_chunk_count(plan, count), chunk, &heads) ||
      __builtin_add_overflow(numbers, heads, &out) || __builtin_add_overflow(out, file, &out))
    return UINT64_MAX;
  return out;
}

template <class L>
result<void> pco_write_chunks(const pco_plan& plan, bytes_view from, pco_writer& to,
                              memory_resource& memory) {
  const std::uint64_t count = from.size() / sizeof(L);
  const std::uint64_t chunks = pco_chunk_count(plan, count);
  const auto longest = static_cast<std::size_t>(std::min(pco_chunk_size(plan), count));
  std::array<buffer, 4> held;
  ZARRPOINT_TRY(numbers, pco_allocate<L>(held[0], longest, memory));
  ZARRPOINT_TRY(sample, pco_allocate<L>(held[1], pco_bins<L>::sample_size, memory));
  ZARRPOINT_TRY(which, pco_allocate<std::uint8_t>(held[2], longest, memory));
  ZARRPOINT_TRY(codes, pco_allocate<std::uint32_t>(held[3], longest, memory));
  const pco_room<L> room{numbers, sample, which, codes};
  std::uint64_t done = 0;
  for (std::uint64_t left = chunks; left > 0; --left) {
    const std::uint64_t some = (count - done + left - 1) / left;
    pco_chunk_writer<L>(plan, room, to)
        .write(from.data() + done * sizeof(L), static_cast<std::size_t>(some));
    done += some;
  }
  return {};
}

ZARRPOINT_INLINE result<std::size_t> pco_encode(const pco_plan& plan, bytes_view from,
                                                mutable_bytes to, memory_resource& memory) {
  const std::uint64_t count = from.size() / plan.type.size;
  if (to.size() < pco_bound(plan, count))
    return error{errc::out_of_range, "the output does not fit"};
  pco_writer out(to.data());
  out.write(0x216f6370, 32);  // "pco!"
  out.write(2, 8);            // the version of files, without a type for all chunks
  const auto hint = std::max(1U, static_cast<unsigned>(std::bit_width(count)));
  out.write(hint - 1, 6);
  out.write(count, hint);
  out.align();
  out.write(2, 8);  // the version of chunks, which all readers of 16-bit numbers know
  const auto write = [&]() -> result<void> {
    switch (plan.type.size) {
      case 1: return pco_write_chunks<std::uint8_t>(plan, from, out, memory);
      case 2: return pco_write_chunks<std::uint16_t>(plan, from, out, memory);
      case 4: return pco_write_chunks<std::uint32_t>(plan, from, out, memory);
      default: return pco_write_chunks<std::uint64_t>(plan, from, out, memory);
    }
  };
  ZARRPOINT_CHECK(write());
  out.write(0, 8);
  return out.size();
}

}}}  // namespace zarrpoint::v0::detail
