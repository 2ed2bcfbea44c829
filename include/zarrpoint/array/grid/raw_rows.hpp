// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// How a part of an uncompressed chunk breaks into runs of bytes that lie together both in storage
/// and in the destination. Those can be read without touching the rest of the chunk.
struct raw_rows {
  std::size_t run_bytes;   ///< of one run
  std::size_t outer_rank;  ///< axes before the run; one run for each of their positions
  dims outer_shape;
  dims stored_strides;  ///< bytes from one position to the next, per outer axis
  dims memory_strides;
  std::uint64_t first;  ///< where in the chunk the first run begins

  /// Nothing when the innermost elements are apart on either side.
  static std::optional<raw_rows> of(const selection& part, const dims& chunk_shape,
                                    const mutable_host_view& into);

  /// The number of runs.
  std::size_t count() const noexcept;

  /// Calls `f(stored_offset, memory_offset)` for each run in row-major order until it returns
  /// false; whether it never did.
  template <class F>
  bool for_each(F&& f) const {
    dims at(outer_rank, 0);
    index_t stored = static_cast<index_t>(first);
    index_t memory = 0;
    for (;;) {
      if (!f(static_cast<std::uint64_t>(stored), memory)) return false;
      std::size_t d = outer_rank;
      for (; d > 0; --d) {
        const std::size_t i = d - 1;
        stored += stored_strides[i];
        memory += memory_strides[i];
        if (++at[i] < outer_shape[i]) break;
        stored -= stored_strides[i] * at[i];
        memory -= memory_strides[i] * at[i];
        at[i] = 0;
      }
      if (d == 0) return true;
    }
  }
};

}}}  // namespace zarrpoint::v0::detail
