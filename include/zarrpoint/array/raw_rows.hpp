// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace zarrpoint::inline v0::detail {

/// How a part of an uncompressed chunk breaks into runs of bytes that lie together both in storage
/// and in the destination: those can be read without touching the rest of the chunk.
struct raw_rows {
  std::size_t run_bytes;   ///< of one run
  std::size_t outer_rank;  ///< axes before the run; one run for each of their positions
  dims outer_shape;
  dims stored_strides;  ///< bytes from one position to the next, per outer axis
  dims memory_strides;
  std::uint64_t first;  ///< where in the chunk the first run begins

  /// Nothing when the innermost elements are apart on either side.
  static std::optional<raw_rows> of(const selection& part, const dims& chunk_shape,
                                    const mutable_host_view& into) {
    const std::size_t element = into.type.size();
    const dims strides = row_major_strides(chunk_shape, element);
    raw_rows out{};
    out.run_bytes = element;
    std::size_t d = part.rank();
    bool whole_so_far = true;
    while (d > 0 && whole_so_far) {
      const std::size_t i = d - 1;
      const index_t count = part.shape[i];
      if (count != 1) {
        if (part.step[i] != 1 || into.strides[i] != static_cast<index_t>(out.run_bytes)) break;
      }
      out.run_bytes *= static_cast<std::size_t>(count);
      whole_so_far = count == chunk_shape[i];
      --d;
    }
    if (d == part.rank() && part.rank() != 0) return std::nullopt;
    out.outer_rank = d;
    for (std::size_t i = 0; i < part.rank(); ++i) {
      out.first += static_cast<std::uint64_t>(part.offset[i] * strides[i]);
      if (i >= d) continue;
      out.outer_shape.push_back(part.shape[i]);
      out.stored_strides.push_back(part.shape[i] == 1 ? 0 : strides[i] * part.step[i]);
      out.memory_strides.push_back(into.strides[i]);
    }
    return out;
  }

  /// The number of runs.
  std::size_t count() const noexcept {
    std::size_t n = 1;
    for (const index_t extent : outer_shape) n *= static_cast<std::size_t>(extent);
    return n;
  }

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

}  // namespace zarrpoint::inline v0::detail
