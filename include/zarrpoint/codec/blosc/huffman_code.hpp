// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/blosc/huffman_sample.hpp>
#include <zarrpoint/codec/blosc/huffman_weights.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A Huffman code as zstd has it (RFC 8878, 4.2.1), to encode with.
struct huffman_code {
  static constexpr unsigned max_bits = huffman_weights::max_bits;
  /// The bytes of the longest description: up to 127, and how many they are.
  static constexpr std::size_t max_description = 128;

  std::array<std::uint8_t, 256> lengths{};  ///< in bits; 0: the symbol does not occur
  std::array<std::uint16_t, 256> codes{};
  unsigned bits = 0;     ///< of the longest code
  std::size_t last = 0;  ///< the last symbol that occurs

  /// A code for the symbols, two or more, that occur: of the fewest bits, but that none has more
  /// than 11. The sum of the counts is below 2^24.
  static huffman_code of(const byte_counts& counts);

  /// Writes the weights; returns the bytes, or 0 when there is no description that short.
  std::size_t describe(std::array<std::byte, max_description>& to) const;
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/blosc/impl/huffman_code_impl.hpp>
#endif
