// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What is known of the number of bytes between two codecs.
struct byte_size {
  std::uint64_t bound = UINT64_MAX;  ///< the most that our encoder makes
  bool exact = false;                ///< never less

  /// What a decoder may make: other encoders may need more than ours, by flushing small blocks.
  std::uint64_t limit() const noexcept {
    constexpr std::uint64_t slack = 64 * 1024;
    if (exact || bound > (UINT64_MAX - slack) / 2) return bound;
    return 2 * bound + slack;
  }
};

}}}  // namespace zarrpoint::v0::detail
