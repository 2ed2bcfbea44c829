// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_class.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/checked.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

/// The chunks that an array is cut into, for work on an array larger than memory.
enum class chunk_level : std::uint8_t {
  stored,  ///< objects of the store: with shards, the shards
  inner,   ///< what is decoded at a time: with shards, inner chunks (on a regular grid)
};

/// The boxes of an array's chunks in row-major order, cut at its edges: a range that computes each.
///
///     for (const box& part : chunk_boxes(a)) { tensor t = a.read(part).value(); ... }
class chunk_boxes {
 public:
  explicit chunk_boxes(const array& of, chunk_level level = chunk_level::stored)
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

  /// The number of chunks; SIZE_MAX when there are too many to count.
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  /// Chunk `i < size()`.
  box operator[](std::size_t i) const {
    box out(dims(shape_.rank(), 0), dims(shape_.rank(), 0));
    for (std::size_t d = shape_.rank(); d-- > 0;) {
      const auto at = static_cast<index_t>(i % static_cast<std::size_t>(counts_[d]));
      i /= static_cast<std::size_t>(counts_[d]);
      index_t extent = extents_[d];
      out.offset[d] = at * extent;
      if (!edges_.empty()) {
        const axis_edges::chunk chunk = edges_[d].at(at);
        out.offset[d] = chunk.start;
        extent = chunk.extent;
      }
      out.shape[d] = std::min(extent, shape_[d] - out.offset[d]);
    }
    return out;
  }

  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = box;
    using difference_type = std::ptrdiff_t;
    using pointer = const box*;
    using reference = box;

    iterator() = default;
    iterator(const chunk_boxes& of, std::size_t at) : of_(&of), at_(at) {}
    box operator*() const { return (*of_)[at_]; }
    iterator& operator++() {
      ++at_;
      return *this;
    }
    iterator operator++(int) {
      iterator before = *this;
      ++at_;
      return before;
    }
    friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }

   private:
    const chunk_boxes* of_ = nullptr;
    std::size_t at_ = 0;
  };
  iterator begin() const { return {*this, 0}; }
  iterator end() const { return {*this, size_}; }

 private:
  dims shape_;
  dims extents_;
  dims counts_;
  std::vector<axis_edges> edges_;
  std::size_t size_ = 1;
};

}  // namespace zarrpoint::inline v0
