// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/device_space.hpp>

namespace zarrpoint::inline v0 {

/// A strided tensor on a device as equal blocks of rows, whose counterpart on the host is dense and
/// row-major.
struct row_plan {
  row_block rows;        ///< each block; `host_pitch` is the width
  dims outer{};          ///< how many blocks there are: their shape
  dims outer_strides{};  ///< from one block to the next on the device, in bytes, of either sign

  std::size_t block_bytes() const noexcept { return rows.width * rows.count; }
  /// How many copies it takes; 0 when there are no elements.
  index_t blocks() const noexcept {
    index_t count = rows.count == 0 ? 0 : 1;
    for (const index_t extent : outer) count *= extent;
    return count;
  }
  /// Calls `f(offset on the device, offset on the host)` for each block until one fails.
  template <class F>
  result<void> for_each(F&& f) const {
    dims at(outer.rank(), 0);
    index_t on_host = 0;
    for (index_t left = blocks(); left > 0; --left) {
      index_t on_device = 0;
      for (std::size_t i = 0; i < at.rank(); ++i) on_device += at[i] * outer_strides[i];
      ZARRPOINT_CHECK(f(on_device, on_host));
      on_host += static_cast<index_t>(block_bytes());
      for (std::size_t i = at.rank(); i > 0 && ++at[i - 1] == outer[i - 1]; --i) at[i - 1] = 0;
    }
    return {};
  }
};

/// The fewest blocks that row-major order allows. The spec must have passed `byte_count`; strides
/// are in bytes.
template <class = void>
row_plan plan_rows(const dims& shape, const dims& strides, std::size_t element_size) {
  dims extents;  // without extents of 1, and with dimensions merged that are one on both sides
  dims steps;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 0) return {{0, 0, 0, 0}, {}, {}};
    if (shape[i] == 1) continue;
    if (!extents.empty() && steps.back() == shape[i] * strides[i]) {
      extents[extents.rank() - 1] *= shape[i];
      steps[steps.rank() - 1] = strides[i];
    } else {
      extents.push_back(shape[i]);
      steps.push_back(strides[i]);
    }
  }
  std::size_t left = extents.rank();
  row_plan out;
  auto width = static_cast<index_t>(element_size);
  if (left > 0 && steps[left - 1] == width) width *= extents[--left];
  out.rows.width = out.rows.device_pitch = out.rows.host_pitch = static_cast<std::size_t>(width);
  if (left > 0 && steps[left - 1] >= width) {
    --left;
    out.rows.count = static_cast<std::size_t>(extents[left]);
    out.rows.device_pitch = static_cast<std::size_t>(steps[left]);
  }
  for (std::size_t i = 0; i < left; ++i) {
    out.outer.push_back(extents[i]);
    out.outer_strides.push_back(steps[i]);
  }
  return out;
}

}  // namespace zarrpoint::inline v0
