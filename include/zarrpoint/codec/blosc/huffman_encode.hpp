// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/blosc/huffman_weights.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

// What occurs in bytes that are to be coded. That, and the codes, are made in several ways, one for
// each kind of processor, which give the same bytes.

/// How often each byte occurs, in whatever unit.
using byte_counts = std::array<std::uint32_t, 256>;

/// What the processor can do for the passes; each can what those before it can.
enum class huffman_kernel : std::uint8_t {
  portable,
  avx2,        ///< AVX2 and BMI2
  avx512vbmi,  ///< permutations of bytes in registers of 512 bits: Ice Lake, Zen 4 and later
};

/// The best that this processor has.
huffman_kernel best_huffman_kernel() noexcept;

/// What tells enough of some dozens of symbols.
inline constexpr std::size_t good_sample = 8 << 10;

/// Counts about `bytes` of `from`, in runs at places without a pattern; all of `from` when that is
/// less than two times as much.
byte_counts sample_of(bytes_view from, std::size_t bytes) noexcept;

/// A sample that is good enough for a code, with one of each symbol that occurs but not among it.
byte_counts sampled_counts(bytes_view from, huffman_kernel kernel) noexcept;

/// A Huffman code as zstd has it (RFC 8878, 4.2.1), to encode with.
struct huffman_code {
  static constexpr unsigned max_bits = huffman_weights::max_bits;
  /// The bytes of the longest description: up to 127, and how many they are.
  static constexpr std::size_t max_description = 128;

  std::array<std::uint8_t, 256> lengths{};  ///< in bits; 0: the symbol does not occur
  std::array<std::uint16_t, 256> codes{};
  unsigned bits = 0;     ///< of the longest code
  std::size_t last = 0;  ///< the last symbol that occurs

  /// A code for the symbols that occur: of the fewest bits, but that none has more than 11. The sum
  /// of the counts is below 2^24. Of less than two symbols: none.
  static huffman_code of(const byte_counts& counts);

  /// What so many symbols take.
  std::uint64_t bits_of(const byte_counts& counts) const noexcept;

  /// Writes the weights; returns the bytes, or 0 when there is no description that short.
  std::size_t describe(std::array<std::byte, max_description>& to) const;
};

/// What is known of a block before it is coded.
struct counted_block {
  static constexpr std::size_t max_group = 8;

  byte_counts counts{};
  std::uint64_t counted = 0;  ///< the sum of `counts`
  huffman_code code{};

  /// Whether codes gain two in a hundred.
  bool is_worthwhile() const noexcept { return code.bits_of(counts) * 51 < counted * 8 * 50; }
  /// Gives up to `max_group` blocks their codes. It is one for all if that is hardly worse for any
  /// of them than its own: a table less to make, and one less to read. Whether it is one.
  static bool choose_codes(counted_block* blocks, std::size_t count);
};

/// One stream of codes (RFC 8878, 4.2.2), and the bits that end it.
struct huffman_stream {
  bytes_view from;
  std::byte* to = nullptr;  ///< room for `bound(from.size())` bytes, and `margin` before them
  std::size_t size = 0;     ///< of what was written

  static constexpr std::size_t margin = 8;  ///< of which anything is overwritten
  static constexpr std::size_t bound(std::size_t symbols) {
    return symbols * huffman_code::max_bits / 8 + 16;  // words are written whole
  }
};

/// Writes the codes of `count` streams, up to four, whose symbols all have codes.
void encode_streams(const huffman_code& code, huffman_stream* streams, std::size_t count,
                    huffman_kernel kernel) noexcept;

}}}  // namespace zarrpoint::v0::detail
