// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/read/array_state.hpp>

#include <iterator>

namespace zarrpoint { inline namespace v0 {

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
  explicit chunk_boxes(const array& of, chunk_level level = chunk_level::stored);

  /// The number of chunks; SIZE_MAX when there are too many to count.
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  /// Chunk `i < size()`.
  box operator[](std::size_t i) const;

  /// The chunk at these coordinates, as its key has them; nothing where the grid has none.
  std::optional<box> at(const dims& coordinates) const;

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
    iterator& operator++();
    iterator operator++(int);
    friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }

   private:
    const chunk_boxes* of_ = nullptr;
    std::size_t at_ = 0;
  };
  iterator begin() const { return {*this, 0}; }
  iterator end() const { return {*this, size_}; }

 private:
  box box_at(const dims& coordinates) const;

  dims shape_;
  dims extents_;
  dims counts_;
  std::vector<axis_edges> edges_;
  std::size_t size_ = 1;
};

}}  // namespace zarrpoint::v0
