// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstddef>
#include <cstdint>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// How a step of a decoder of the LZ77 family went; cheaper than a `result` for each few bytes.
enum class lz_status : std::uint8_t { ok, truncated, bad_distance, no_room };

/// Where such a decoder reads and writes: literals and matches, each checked against both ends.
class lz_cursor {
 public:
  lz_cursor(bytes_view from, mutable_bytes to);

  std::size_t left() const noexcept { return left_; }
  std::size_t done() const noexcept { return done_; }
  std::size_t room() const noexcept { return room_ - done_; }

  /// The next byte of the input, of which there is one.
  unsigned take() noexcept;
  /// The next two, little-endian, of which there are two.
  unsigned take_u16() noexcept;
  /// Adds bytes of the input to `length`, up to and including the first that is not 255.
  bool extend(std::size_t& length) noexcept;

  /// Copies `length` bytes of the input.
  lz_status literals(std::size_t length) noexcept;

  /// Repeats `length` bytes from `distance` before the end of the output; they may overlap.
  lz_status match(std::size_t distance, std::size_t length) noexcept;

  /// What a decoder returns that ended with `status`.
  result<std::size_t> finish(lz_status status) const;

 private:
  static constexpr std::size_t step = 16;  ///< one register: what most copies need

  const std::byte* at_;
  std::size_t left_;
  std::byte* to_;
  std::size_t room_;
  std::size_t done_ = 0;
};

// The LZ4 block format ("LZ4 Block Format Description" of the lz4 project): no frame, no sizes, no
// checksum; the format around a block says how much it decodes to.

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

/// Decodes the blosclz stream that is all of `from`, as c-blosc 1 writes it; returns the bytes
/// written. Control bytes below 32 are literals, others a match of 3 bytes or more. Errors:
/// `out_of_range` when `to` is too small; `corrupt`.
result<std::size_t> blosclz_decode(bytes_view from, mutable_bytes to);

/// Decodes the raw Snappy stream that is all of `from` ("Snappy compressed format description");
/// returns the bytes written. Errors: `out_of_range` when `to` is too small; `corrupt`, also when
/// the stream is not as long as its beginning says.
result<std::size_t> snappy_decode(bytes_view from, mutable_bytes to);

}}}  // namespace zarrpoint::v0::detail
