// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/grid/piece_grid.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/dims.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE piece_grid piece_grid::make(const selection& part, const dims& unit,
                                             std::size_t element_size, std::size_t bytes) {
  piece_grid out;
  out.shape_ = out.lead_ = out.extent_ = part.shape;
  out.counts_ = dims(part.rank(), 1);
  std::size_t used = element_size;
  for (const index_t extent : part.shape) {
    if (extent == 0) {
      out.size_ = 0;
      return out;
    }
  }
  for (std::size_t d = 0; d < part.rank(); ++d)
    used *= static_cast<std::size_t>(std::min(unit_of(part, unit, d), part.shape[d]));
  bool full = false;  // what stands for the axes inside is all of them
  for (std::size_t d = part.rank(); d-- > 0;) {
    const index_t one = unit_of(part, unit, d);
    const index_t before = part.step[d] == 1 ? part.offset[d] % one : 0;
    const index_t needed = ceil_div(before + part.shape[d], one);
    const std::size_t room = full ? 1 : std::max<std::size_t>(bytes / used, 1);
    const index_t taken =
        static_cast<std::size_t>(needed) <= room ? needed : static_cast<index_t>(room);
    if (taken == needed) {
      used *= static_cast<std::size_t>(taken);  // at most what `room` allows
      continue;                                 // one piece along this axis
    }
    full = true;
    out.extent_[d] = taken * one;
    out.lead_[d] = out.extent_[d] - (part.step[d] == 1 ? part.offset[d] % out.extent_[d] : 0);
    if (out.lead_[d] < part.shape[d])
      out.counts_[d] = 1 + ceil_div(part.shape[d] - out.lead_[d], out.extent_[d]);
  }
  for (const index_t count : out.counts_) out.size_ *= static_cast<std::size_t>(count);
  return out;
}

ZARRPOINT_INLINE box piece_grid::at(std::size_t i) const {
  box out{dims(shape_.rank(), 0), shape_};
  for (std::size_t d = shape_.rank(); d-- > 0;) {
    const auto count = static_cast<std::size_t>(counts_[d]);
    const auto k = static_cast<index_t>(i % count);
    i /= count;
    out.offset[d] = k == 0 ? 0 : lead_[d] + (k - 1) * extent_[d];
    const index_t left = shape_[d] - out.offset[d];
    out.shape[d] = std::min(k == 0 ? lead_[d] : extent_[d], left);
  }
  return out;
}

ZARRPOINT_INLINE index_t piece_grid::unit_of(const selection& part, const dims& unit,
                                             std::size_t d) {
  return std::max<index_t>(unit[d] / part.step[d], 1);
}

ZARRPOINT_INLINE selection part_of(const selection& whole, const box& part) {
  selection out(part);
  for (std::size_t d = 0; d < part.rank(); ++d) {
    out.step[d] = whole.step[d];
    out.offset[d] = whole.offset[d] + part.offset[d] * whole.step[d];
  }
  return out;
}

}}}  // namespace zarrpoint::v0::detail
