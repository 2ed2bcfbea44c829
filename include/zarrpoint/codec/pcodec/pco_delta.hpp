// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/pcodec/pco_variable.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

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

}}}  // namespace zarrpoint::v0::detail
