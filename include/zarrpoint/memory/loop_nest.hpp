// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>

#include <array>
#include <cstddef>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// One loop over two strided arrays: `count` elements, and bytes from one to the next in each.
struct loop_axis {
  index_t count = 1;
  index_t to = 0;
  index_t from = 0;
};

constexpr index_t magnitude(index_t stride) noexcept { return stride < 0 ? -stride : stride; }

/// The loops that visit every element of two strided arrays of one shape, in as few axes as do.
/// Extents of 1 are gone, axes are ordered by the stride of `to`, steps through `to` are never
/// negative, and axes that continue each other in both arrays are one.
struct loop_nest {
  std::array<loop_axis, max_rank> axes{};  ///< outermost first
  std::size_t rank = 0;
  index_t to_offset = 0;  ///< bytes from element (0, ..., 0) to where the loops begin
  index_t from_offset = 0;
  bool empty = false;  ///< there are no elements at all

  loop_nest(const dims& shape, const dims& to, const dims& from);

  /// The `k`-th axis from the inside; beyond the outermost, an axis of one element.
  loop_axis inner(std::size_t k) const noexcept;
  void drop_innermost() noexcept { --rank; }

  /// Makes axis `i` the second from the inside.
  void move_to_second(std::size_t i) noexcept;

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
  void insert(loop_axis axis) noexcept;

  void merge() noexcept;
};

}}}  // namespace zarrpoint::v0::detail
