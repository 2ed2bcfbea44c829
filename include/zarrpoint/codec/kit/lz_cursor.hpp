// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
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

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/kit/impl/lz_cursor_impl.hpp>
#endif
