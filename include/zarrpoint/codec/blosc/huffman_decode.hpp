// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/blosc/huffman_weights.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Decodes streams of Huffman codes (RFC 8878, 4.2). The next 11 bits of a stream choose all
/// symbols that stand in them whole: four on average, where codes are those of exponents.
class huffman_decoder {
 public:
  static constexpr unsigned bits = huffman_weights::max_bits;
  static constexpr std::size_t entries = std::size_t{1} << bits;

  /// Makes the tables of a code.
  void set(const huffman_weights& weights);

  /// Decodes one stream, or the four that `parts` are, to parts of `to` that are as long, but for
  /// the last. False when a stream is none, or does not end where its symbols do.
  template <std::size_t N>
  bool decode(const std::array<bytes_view, N>& parts, mutable_bytes to) const {
    const std::size_t each = (to.size() + N - 1) / N;
    if (to.empty() || each * (N - 1) >= to.size()) return false;
    std::array<stream, N> streams;
    for (std::size_t i = 0; i < N; ++i) {
      const std::size_t size = i + 1 < N ? each : to.size() - each * (N - 1);
      if (!streams[i].open(parts[i], to.subspan(i * each, size))) return false;
    }
    run(streams.data(), std::make_index_sequence<N>{});
    for (stream& one : streams) {
      run(&one, std::index_sequence<0>{});
      if (!finish(one)) return false;
    }
    return true;
  }

 private:
  static constexpr unsigned look_ups = 5;  // of 11 bits, and up to 7 of the byte begun: 62 of 64
  static constexpr std::size_t most = 8;   // symbols of a look-up
  static constexpr std::size_t word = sizeof(std::uint64_t);
  static constexpr std::size_t spare = word;  // tables are written in words

  /// The next bits are the highest in `bits`. A one below them marks how many are taken.
  struct stream {
    const std::byte* begin = nullptr;
    const std::byte* at = nullptr;  ///< of the eight bytes in `bits`
    std::uint64_t bits = 0;
    std::byte* to = nullptr;
    std::byte* end = nullptr;
    backward_bits rest{};  ///< in place of the above, where there are less than eight bytes

    bool open(bytes_view from, mutable_bytes into);
    void refill(std::size_t taken) { bits = (load_le<std::uint64_t>(at) | 1) << taken; }
    /// How often all look-ups may be made before one of the ends is near.
    std::size_t safe_rounds() const;
  };

  template <std::size_t... I>
  void run(stream* streams, std::index_sequence<I...> all) const {
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("bmi2")) return run_bmi2(streams, all);
#endif
    run_here(streams, all);
  }
#if defined(__x86_64__) && defined(__GNUC__)
  // Shifts by a number in any register: a third faster.
  template <std::size_t... I>
  [[gnu::target("bmi,bmi2")]] void run_bmi2(stream* streams, std::index_sequence<I...> all) const {
    run_here(streams, all);
  }
#endif

  template <std::size_t... I>
  [[gnu::always_inline]] void run_here(stream* streams, std::index_sequence<I...>) const {
    // The streams take turns, so that none waits for its own last look-up.
    std::uint64_t next[] = {streams[I].bits...};
    std::byte* to[] = {streams[I].to...};
    const std::byte* at[] = {streams[I].at...};
    const auto look_up = [&](std::size_t i) __attribute__((always_inline)) {
      const std::size_t entry = next[i] >> (64 - bits);
      store_le<std::uint64_t>(to[i], symbols_[entry]);
      to[i] += counts_[entry];
      next[i] <<= lengths_[entry];
    };
    const auto refill = [&](std::size_t i) __attribute__((always_inline)) {
      const auto taken = static_cast<unsigned>(std::countr_zero(next[i]));
      at[i] -= taken / 8;
      next[i] = (load_le<std::uint64_t>(at[i]) | 1) << taken % 8;
    };
    while (true) {
      std::size_t rounds = std::min({streams[I].safe_rounds()...});
      if (rounds == 0) return;
      do {
        (look_up(I), ...);
        (look_up(I), ...);
        (look_up(I), ...);
        (look_up(I), ...);
        (look_up(I), ...);
        (refill(I), ...);
      } while (--rounds != 0);
      ((streams[I].bits = next[I], streams[I].to = to[I], streams[I].at = at[I]), ...);
    }
  }

  /// What is left, symbol by symbol; false when bits are missing, or left over.
  bool finish(stream& one) const;

  // Arrays of bytes apart from one of words: an unscaled load is a cycle faster.
  std::array<std::uint8_t, entries + spare> lengths_;  ///< bits of all symbols of an entry
  std::array<std::uint8_t, entries + spare> counts_;   ///< how many they are
  std::array<std::uint64_t, entries> symbols_;         ///< the first one lowest
  std::array<std::uint8_t, 256> code_lengths_;         ///< of each symbol
};

}}}  // namespace zarrpoint::v0::detail
