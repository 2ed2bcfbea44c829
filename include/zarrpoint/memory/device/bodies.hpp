// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/memory/device/packed_rows.hpp>
#include <zarrpoint/memory/device/staging_ring.hpp>

#include <array>
#include <cstdlib>

namespace zarrpoint { inline namespace v0 { namespace detail {

// --------------------------------------------------------------------------------- packed_rows.hpp

ZARRPOINT_INLINE std::size_t packed_rows::copies() const noexcept {
  std::size_t out = bytes == 0 ? 0 : 1;
  for (const index_t extent : outer) out *= static_cast<std::size_t>(extent);
  return out;
}

ZARRPOINT_INLINE packed_rows packed_rows::of(const dims& shape, const dims& strides,
                                             std::size_t element) {
  packed_rows out;
  out.strides = dims(shape.rank(), 0);
  for (const index_t extent : shape) {
    if (extent == 0) return out;
  }
  // The axes of the memory, the innermost first.
  struct axis {
    index_t extent, device, host;
  };
  std::array<std::size_t, max_rank> order{};
  std::size_t rank = 0;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (shape[i] != 1 && strides[i] != 0) order[rank++] = i;
  }
  // Of equal strides, which overlap, any order will do; it is the same each time.
  std::sort(order.begin(), order.begin() + rank, [&](std::size_t a, std::size_t b) {
    const index_t of_a = std::abs(strides[a]);
    const index_t of_b = std::abs(strides[b]);
    return of_a != of_b ? of_a < of_b : a > b;
  });
  std::array<axis, max_rank> axes{};
  std::size_t used = 0;
  auto unit = static_cast<index_t>(element);
  index_t run = unit;
  index_t last = 0;
  for (std::size_t k = 0; k < rank; ++k) {
    const index_t extent = shape[order[k]];
    const index_t stride = strides[order[k]];
    const index_t reach = std::abs(stride) * (extent - 1);
    last += reach;
    out.strides[order[k]] = stride < 0 ? -unit : unit;
    if (stride < 0) {
      out.low -= reach;
      out.first += unit * (extent - 1);
    }
    const axis one{extent, std::abs(stride), unit};
    unit *= extent;
    if (used == 0 && one.device == run) {
      run *= extent;
    } else if (used != 0 && one.device == axes[used - 1].device * axes[used - 1].extent) {
      axes[used - 1].extent *= extent;
    } else {
      axes[used++] = one;
    }
  }
  out.bytes = static_cast<std::size_t>(unit);
  out.cover = static_cast<std::size_t>(last) + element;
  out.rows = {static_cast<std::size_t>(run), 1, static_cast<std::size_t>(run),
              static_cast<std::size_t>(run)};
  // Any axis can be that of the rows, unless rows overlap: the longest leaves the fewest copies.
  std::size_t longest = used;
  for (std::size_t k = 0; k < used; ++k) {
    if (axes[k].device >= run && (longest == used || axes[k].extent > axes[longest].extent))
      longest = k;
  }
  for (std::size_t k = used; k-- > 0;) {
    if (k == longest) {
      out.rows.count = static_cast<std::size_t>(axes[k].extent);
      out.rows.device_pitch = static_cast<std::size_t>(axes[k].device);
      out.rows.host_pitch = static_cast<std::size_t>(axes[k].host);
    } else {
      out.outer.push_back(axes[k].extent);
      out.outer_device.push_back(axes[k].device);
      out.outer_host.push_back(axes[k].host);
    }
  }
  return out;
}

// -------------------------------------------------------------------------------- staging_ring.hpp

ZARRPOINT_INLINE ring_options ring_within(std::size_t share, memory_resource& resource) {
  constexpr std::size_t least = std::size_t{64} << 10;
  constexpr std::size_t few = 4;
  ring_options out{.resource = &resource};
  out.slot_bytes = std::clamp(share / few / least * least, least, out.slot_bytes);
  out.slots = std::clamp<std::size_t>(share / out.slot_bytes, 1, out.slots);
  return out;
}

ZARRPOINT_INLINE ring_options ring_budget::add_ring(memory_resource& resource) {
  const std::lock_guard lock(mutex_);
  ring_options out = ring_within(left_, resource);
  out.put_by = std::min(out.slot_bytes, left_);
  left_ -= out.put_by;
  return out;
}

ZARRPOINT_INLINE bool ring_budget::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > left_) return false;
  left_ -= bytes;
  return true;
}

ZARRPOINT_INLINE void ring_budget::give_back(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  left_ += bytes;
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/memory/bodies.hpp>
#endif
