// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_class.hpp>
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/chunk_boxes.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE chunk_boxes::chunk_boxes(const array& of, chunk_level level)
    : shape_(of.metadata().shape), edges_(of.metadata().edges) {
  const chunk_grid& grid = of.layout().grid();
  extents_ = level == chunk_level::inner ? grid.inner_shape : grid.object_shape;
  for (std::size_t d = 0; d < shape_.rank(); ++d) {
    index_t count = ceil_div(shape_[d], extents_[d]);
    if (!edges_.empty()) count = shape_[d] == 0 ? 0 : edges_[d].find(shape_[d] - 1).index + 1;
    counts_.push_back(count);
    size_ = checked_mul(size_, static_cast<std::size_t>(count)).value_or(SIZE_MAX);
  }
}

ZARRPOINT_INLINE box chunk_boxes::operator[](std::size_t i) const {
  dims coordinates(shape_.rank(), 0);
  for (std::size_t d = shape_.rank(); d-- > 0;) {
    coordinates[d] = static_cast<index_t>(i % static_cast<std::size_t>(counts_[d]));
    i /= static_cast<std::size_t>(counts_[d]);
  }
  return box_at(coordinates);
}

ZARRPOINT_INLINE std::optional<box> chunk_boxes::at(const dims& coordinates) const {
  if (coordinates.rank() != shape_.rank()) return std::nullopt;
  for (std::size_t d = 0; d < shape_.rank(); ++d)
    if (coordinates[d] < 0 || coordinates[d] >= counts_[d]) return std::nullopt;
  return box_at(coordinates);
}

ZARRPOINT_INLINE box chunk_boxes::box_at(const dims& coordinates) const {
  box out(coordinates, extents_);
  for (std::size_t d = 0; d < shape_.rank(); ++d) {
    out.offset[d] = coordinates[d] * extents_[d];
    if (!edges_.empty()) {
      const axis_edges::chunk chunk = edges_[d].at(coordinates[d]);
      out.offset[d] = chunk.start;
      out.shape[d] = chunk.extent;
    }
    out.shape[d] = std::min(out.shape[d], shape_[d] - out.offset[d]);
  }
  return out;
}

ZARRPOINT_INLINE chunk_boxes::iterator& chunk_boxes::iterator::operator++() {
  ++at_;
  return *this;
}

ZARRPOINT_INLINE chunk_boxes::iterator chunk_boxes::iterator::operator++(int) {
  iterator before = *this;
  ++at_;
  return before;
}

}}  // namespace zarrpoint::v0
