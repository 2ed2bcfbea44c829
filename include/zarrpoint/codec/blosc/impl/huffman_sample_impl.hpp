// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/blosc/huffman_sample.hpp>
#include <zarrpoint/core/bytes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zarrpoint { inline namespace v0 { namespace detail {

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

}}}  // namespace zarrpoint::v0::detail
