// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/dims.hpp>

#include <array>
#include <cstddef>

namespace zarrpoint::inline v0::detail {

/// One loop over two strided arrays: `count` elements, and bytes from one to the next in each.
struct loop_axis {
  index_t count = 1;
  index_t to = 0;
  index_t from = 0;
};

constexpr index_t magnitude(index_t stride) noexcept { return stride < 0 ? -stride : stride; }

/// The loops that visit every element of two strided arrays of one shape, in as few axes as do:
/// extents of 1 are gone, axes are ordered by the stride of `to`, steps through `to` are never
/// negative, and axes that continue each other in both arrays are one.
struct loop_nest {
  std::array<loop_axis, max_rank> axes{};  ///< outermost first
  std::size_t rank = 0;
  index_t to_offset = 0;  ///< bytes from element (0, ..., 0) to where the loops begin
  index_t from_offset = 0;
  bool empty = false;  ///< there are no elements at all

  loop_nest(const dims& shape, const dims& to, const dims& from) {
    // The extents beside a 0 may be of any size, and so may their strides.
    for (const index_t extent : shape) empty = empty || extent == 0;
    if (empty) return;
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      if (shape[i] > 1) insert({shape[i], to[i], from[i]});
    }
    merge();
  }

  /// The `k`-th axis from the inside; beyond the outermost, an axis of one element.
  loop_axis inner(std::size_t k) const noexcept {
    return k < rank ? axes[rank - 1 - k] : loop_axis{};
  }
  void drop_innermost() noexcept { --rank; }

  /// Makes axis `i` the second from the inside.
  void move_to_second(std::size_t i) noexcept {
    const loop_axis axis = axes[i];
    for (; i + 2 < rank; ++i) axes[i] = axes[i + 1];
    axes[i] = axis;
  }

  /// Calls `f(to offset, from offset)` for each step of all axes but the `inner_axes` innermost;
  /// stops and returns false as soon as `f` returns false.
  template <class F>
  bool for_each_outer(std::size_t inner_axes, F&& f) const {
    if (empty) return true;
    const std::size_t outer = rank > inner_axes ? rank - inner_axes : 0;
    std::array<index_t, max_rank> at{};
    index_t to = to_offset;
    index_t from = from_offset;
    while (true) {
      if (!f(to, from)) return false;
      std::size_t i = outer;
      while (i > 0) {
        const loop_axis& axis = axes[i - 1];
        to += axis.to;
        from += axis.from;
        if (++at[i - 1] < axis.count) break;
        at[i - 1] = 0;
        to -= axis.to * axis.count;
        from -= axis.from * axis.count;
        --i;
      }
      if (i == 0) return true;
    }
  }

 private:
  /// Keeps the axes sorted, the largest stride of `to` first, then that of `from`.
  void insert(loop_axis axis) noexcept {
    if (axis.to < 0) {
      to_offset += (axis.count - 1) * axis.to;
      from_offset += (axis.count - 1) * axis.from;
      axis.to = -axis.to;
      axis.from = -axis.from;
    }
    std::size_t i = rank++;
    for (; i > 0; --i) {
      const loop_axis& other = axes[i - 1];
      if (other.to > axis.to ||
          (other.to == axis.to && magnitude(other.from) >= magnitude(axis.from)))
        break;
      axes[i] = other;
    }
    axes[i] = axis;
  }

  void merge() noexcept {
    if (rank < 2) return;
    std::size_t kept = 0;
    for (std::size_t i = 1; i < rank; ++i) {
      loop_axis& outer = axes[kept];
      const loop_axis& inner = axes[i];
      if (outer.to == inner.to * inner.count && outer.from == inner.from * inner.count) {
        outer = {outer.count * inner.count, inner.to, inner.from};
      } else {
        axes[++kept] = inner;
      }
    }
    rank = kept + 1;
  }
};

}  // namespace zarrpoint::inline v0::detail
