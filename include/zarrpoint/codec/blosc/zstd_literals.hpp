// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/codec/blosc/blosc_frame.hpp>
#include <zarrpoint/codec/blosc/huffman_encode.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

// zstd frames whose blocks are Huffman codes without matches (RFC 8878), as planes of exponents are
// written: decoded here they are read half as fast again as by libzstd. What is not exactly so is
// left to libzstd, and so is every verdict on damage.

/// What stands before the literals of a zstd block (RFC 8878, 3.1.1.3.1.1).
struct literals_header {
  std::uint64_t value = 0;
  std::size_t size = 0;  ///< bytes of it

  /// `type`: 2 with the description of the code, 3 without. `bytes` become `stored` ones.
  static literals_header of(std::uint64_t type, std::size_t bytes, std::size_t stored) noexcept;
  /// Blocks of so many bytes and more have four streams, smaller ones a single one.
  static constexpr std::size_t by_four = 1024;
};

/// Decodes `frame`, which is all of a stream, if it is one of Huffman codes alone that makes
/// exactly the bytes of `to`. It is false when it is not, and `to` may then hold anything. Less
/// than `least` bytes are left alone: libzstd is as fast, as a table takes as long as that many.
bool decode_zstd_literals(bytes_view frame, mutable_bytes to, codec_workspace& scratch,
                          std::size_t least = 4096);

/// Where the streams of a block are made, before their sizes are known.
struct streams_memory : blosc_memory {
  using blosc_memory::blosc_memory;
};

/// Writes `from`, of less than 4 GiB, as one zstd frame (RFC 8878) of Huffman codes without
/// matches. It is as small as others for bytes that are unevenly frequent but follow no order, such
/// as the exponents of weights. It is the fastest to write and to read. Blocks that get no smaller
/// are raw. The bytes do not depend on the processor. Errors: `out_of_range` when the frame does
/// not fit into `to`; `resource_limit`.
result<std::size_t> encode_zstd_literals(bytes_view from, mutable_bytes to,
                                         codec_workspace& scratch,
                                         huffman_kernel kernel = best_huffman_kernel());

}}}  // namespace zarrpoint::v0::detail
