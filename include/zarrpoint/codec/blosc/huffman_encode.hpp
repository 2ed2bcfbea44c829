// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/blosc/huffman_code.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>

#include <cstddef>
#include <cstdint>

// The two passes over bytes that are Huffman-coded: what occurs, and the codes. Each is made for
// several kinds of processors, and gives the same bytes on all.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// What the processor can do for the passes; each can what those before it can.
enum class huffman_kernel : std::uint8_t {
  portable,
  avx2,        ///< AVX2 and BMI2
  avx512vbmi,  ///< permutations of bytes in registers of 512 bits: Ice Lake, Zen 4 and later
};

/// The best that this processor has.
huffman_kernel best_huffman_kernel() noexcept;

/// More than that tells little more.
inline constexpr std::size_t longest_sample = 8 << 10;

/// Counts about `bytes` of `from`, up to `longest_sample`, in runs at places without a pattern; all
/// of `from` when that is less than two times as much.
byte_counts sample_of(bytes_view from, std::size_t bytes) noexcept;

/// A sample of `longest_sample` bytes, and one of each symbol that occurs but not among them.
byte_counts sampled_counts(bytes_view from, huffman_kernel kernel) noexcept;

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

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/blosc/impl/huffman_encode_impl.hpp>
#endif
