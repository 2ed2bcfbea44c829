// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/blosc/huffman_code.hpp>
#include <zarrpoint/codec/blosc/huffman_sample.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>

#include <cstddef>
#include <cstdint>

namespace zarrpoint { inline namespace v0 { namespace detail {

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
