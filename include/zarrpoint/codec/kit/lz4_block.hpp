// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstddef>
#include <cstdint>

// The LZ4 block format ("LZ4 Block Format Description" of the lz4 project): no frame, no sizes, no
// checksum; the format around a block says how much it decodes to.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// The most bytes that `lz4_encode` makes of `n`.
constexpr std::uint64_t lz4_bound(std::uint64_t n) noexcept {
  const std::uint64_t extra = n / 255 + 16;
  return n > UINT64_MAX - extra ? UINT64_MAX : n + extra;
}

/// Encodes `from` as one LZ4 block; returns the bytes written. Errors: `out_of_range` when they do
/// not fit into `to`; `invalid_argument` for more than 2113929216 bytes, the most that lz4 takes;
/// `resource_limit`.
result<std::size_t> lz4_encode(bytes_view from, mutable_bytes to, codec_workspace& scratch);

/// Decodes the LZ4 block that is all of `from`; returns the bytes written. Errors: `out_of_range`
/// when `to` is too small, beyond which nothing is written; `corrupt`.
result<std::size_t> lz4_decode(bytes_view from, mutable_bytes to);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/kit/impl/lz4_block_impl.hpp>
#endif
