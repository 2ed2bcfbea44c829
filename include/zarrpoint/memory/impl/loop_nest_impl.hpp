// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/memory/loop_nest.hpp>

#include <array>
#include <cstddef>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE loop_nest::loop_nest(const dims& shape, const dims& to, const dims& from) {
  // The extents beside a 0 may be of any size, and so may their strides.
  for (const index_t extent : shape) empty = empty || extent == 0;
  if (empty) return;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (shape[i] > 1) insert({shape[i], to[i], from[i]});
  }
  merge();
}

ZARRPOINT_INLINE loop_axis loop_nest::inner(std::size_t k) const noexcept {
  return k < rank ? axes[rank - 1 - k] : loop_axis{};
}

ZARRPOINT_INLINE void loop_nest::move_to_second(std::size_t i) noexcept {
  const loop_axis axis = axes[i];
  for (; i + 2 < rank; ++i) axes[i] = axes[i + 1];
  axes[i] = axis;
}

ZARRPOINT_INLINE void loop_nest::insert(loop_axis axis) noexcept {
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

ZARRPOINT_INLINE void loop_nest::merge() noexcept {
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

}}}  // namespace zarrpoint::v0::detail
