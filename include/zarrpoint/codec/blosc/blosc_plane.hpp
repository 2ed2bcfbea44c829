// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/blosc/zstd_literals.hpp>

// Bytes of numbers, sorted, are of three kinds. Some are noise, such as mantissas. Some are not
// equally frequent, such as exponents: an entropy coder is all that helps. And some repeat.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// The bits that an entropy coder needs for a byte. Above `noise_bits` it gains less than 2 %.
double entropy_of(const byte_counts& counts);
inline constexpr double noise_bits = 7.84;

/// The same from a sample of an eighth.
double sampled_entropy(bytes_view from);

/// Whether enough is repeated in the first 64 KiB that a search for matches may be worth its time.
bool has_repeats(bytes_view from);

/// Whether nothing helps: 2 % would not be gained by codes, and nothing repeats.
bool is_noise_plane(bytes_view from);

/// Where the second of two ways to encode a stream is tried.
struct plane_memory : blosc_memory {
  using blosc_memory::blosc_memory;
};

/// Encodes a stream of sorted bytes as one zstd frame, of Huffman codes alone unless matches make
/// it smaller by 2 %: those are slower to read. Above level 1 both are tried on all but
/// noise. Errors: `out_of_range` when the frame does not fit into `to`, or gains less than 2 %;
/// `resource_limit`.
result<std::size_t> encode_plane(bytes_view from, mutable_bytes to, int level,
                                 codec_workspace& scratch);

}}}  // namespace zarrpoint::v0::detail
