// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

// What occurs in bytes that are to be coded. That, and the codes, are made in several ways, one for
// each kind of processor, which give the same bytes.
namespace zarrpoint { inline namespace v0 { namespace detail {

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

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/blosc/impl/huffman_sample_impl.hpp>
#endif
