// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/interop/dcp/dcp_grid.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

/// Boxes without a grid are compared with each other: half a second at the most.
inline constexpr std::size_t most_loose_boxes = 16384;

ZARRPOINT_INLINE error overlap_of(const box& a, const box& b) {
  return {errc::corrupt, "its boxes " + to_string(a) + " and " + to_string(b) + " overlap"};
}

ZARRPOINT_INLINE bool overlaps(const box& a, const box& b) {
  for (std::size_t d = 0; d < a.rank(); ++d)
    if (a.offset[d] >= b.offset[d] + b.shape[d] || b.offset[d] >= a.offset[d] + a.shape[d])
      return false;
  return true;
}

ZARRPOINT_INLINE result<tensor_grid> tensor_grid::make(const tensor_entry& of) {
  tensor_grid out;
  out.shape_ = of.spec.shape;
  if (of.unflattened) {
    ZARRPOINT_CHECK(out.take_flat(of));
    return out;
  }
  if (box::whole(out.shape_).empty()) {  // no chunk is ever read
    for (const index_t extent : out.shape_)
      out.chunk_shape_.push_back(std::max<index_t>(extent, 1));
    out.counts_ = dims(out.shape_.rank(), 0);
    return out;
  }
  ZARRPOINT_TRY(is_grid, out.take_grid(of));
  if (!is_grid) ZARRPOINT_CHECK(out.take_whole(of));
  return out;
}

ZARRPOINT_INLINE result<bool> tensor_grid::take_grid(const tensor_entry& of) {
  const std::size_t rank = shape_.rank();
  const std::size_t count = of.chunks.size();
  std::vector<std::vector<index_t>> cuts(rank);
  std::size_t cells = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    for (const tensor_chunk& chunk : of.chunks) cuts[d].push_back(chunk.at.offset[d]);
    std::sort(cuts[d].begin(), cuts[d].end());
    cuts[d].erase(std::unique(cuts[d].begin(), cuts[d].end()), cuts[d].end());
    if (cuts[d].empty() || cuts[d].front() != 0 || cuts[d].size() > count / cells) return false;
    cells *= cuts[d].size();
    cuts[d].push_back(shape_[d]);
  }
  if (cells != count) return false;
  // As many boxes as cells, no two at one offset: where each is a cell, they are all of them.
  for (const tensor_chunk& chunk : of.chunks)
    for (std::size_t d = 0; d < rank; ++d) {
      const auto at = std::lower_bound(cuts[d].begin(), cuts[d].end(), chunk.at.offset[d]);
      if (chunk.at.shape[d] != *(at + 1) - *at) return false;
    }
  set_chunks(cuts);
  // They are sorted by their offsets, as chunks are by their index.
  for (std::size_t i = 0; i <= count; ++i) {
    firsts_.push_back(static_cast<std::uint32_t>(i));
    if (i < count) boxes_.push_back(static_cast<std::uint32_t>(i));
  }
  return true;
}

/// `cuts` of an axis: where its chunks begin, and its end.
ZARRPOINT_INLINE void tensor_grid::set_chunks(const std::vector<std::vector<index_t>>& cuts) {
  bool is_regular = true;
  for (const std::vector<index_t>& axis : cuts) {
    const std::size_t count = axis.size() - 1;
    index_t largest = 0;
    std::vector<chunk_run> runs;
    for (std::size_t i = 0; i < count; ++i) {
      const index_t extent = axis[i + 1] - axis[i];
      largest = std::max(largest, extent);
      if (i + 1 < count ? extent != axis[1] : extent > axis[1]) is_regular = false;
      if (!runs.empty() && runs.back().extent == extent) {
        ++runs.back().count;
      } else {
        runs.push_back({extent, 1});
      }
    }
    counts_.push_back(static_cast<index_t>(count));
    chunk_shape_.push_back(largest);
    edges_.emplace_back(std::move(runs));
  }
  if (is_regular) edges_.clear();
}

ZARRPOINT_INLINE result<void> tensor_grid::take_whole(const tensor_entry& of) {
  const std::vector<tensor_chunk>& all = of.chunks;
  if (all.size() > most_loose_boxes)
    return error{errc::resource_limit, "its " + std::to_string(all.size()) +
                                           " boxes form no grid; those of one tensor may be " +
                                           std::to_string(most_loose_boxes)};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      // Sorted by the first axis: what begins behind the end of this one, and all that follows.
      if (!all[i].at.shape.empty() &&
          all[j].at.offset[0] >= all[i].at.offset[0] + all[i].at.shape[0])
        break;
      if (overlaps(all[i].at, all[j].at)) return overlap_of(all[i].at, all[j].at);
    }
  // They lie within the tensor and apart, so the sum is no more than its elements.
  ZARRPOINT_TRY(wanted, element_count(shape_));
  index_t covered = 0;
  for (const tensor_chunk& chunk : all) covered += element_count(chunk.at.shape).value_or(0);
  if (covered != wanted)
    return error{errc::corrupt, "its boxes have " + std::to_string(covered) + " of its " +
                                    std::to_string(wanted) + " elements: it has holes"};
  chunk_shape_ = shape_;
  counts_ = dims(shape_.rank(), 1);
  firsts_ = {0, static_cast<std::uint32_t>(all.size())};
  for (std::size_t i = 0; i < all.size(); ++i) boxes_.push_back(static_cast<std::uint32_t>(i));
  return {};
}

/// The stored shape is that of the grid, and then the elements of a cell.
ZARRPOINT_INLINE result<void> tensor_grid::take_flat(const tensor_entry& of) {
  const dims& stored = of.spec.shape;
  shape_ = *of.unflattened;
  const auto broken = [&] {
    return error{errc::corrupt, "the shape " + to_string(shape_) +
                                    " has no grid that is stored as " + to_string(stored)};
  };
  if (stored.rank() != shape_.rank() + 1) return broken();
  ZARRPOINT_CHECK(byte_count(tensor_spec{of.spec.type, shape_}));
  for (std::size_t d = 0; d < shape_.rank(); ++d) {
    if (stored[d] == 0 ? shape_[d] != 0 : shape_[d] % stored[d] != 0) return broken();
    counts_.push_back(stored[d]);
    chunk_shape_.push_back(stored[d] == 0 ? 1 : std::max<index_t>(shape_[d] / stored[d], 1));
  }
  flat_ = stored.back();
  if (box::whole(shape_).empty()) {
    counts_ = dims(shape_.rank(), 0);
    return {};
  }
  ZARRPOINT_TRY(cell, element_count(chunk_shape_));
  if (cell != flat_) return broken();
  // Sorted: the pieces of a cell follow each other, and the cells, too.
  index_t end = flat_;  // of the cell before
  dims index(counts_.rank(), 0);
  bool is_first = true;
  for (std::size_t i = 0; i < of.chunks.size(); ++i) {
    const box& at = of.chunks[i].at;
    if (end == flat_) {
      for (std::size_t d = counts_.rank(); !is_first && d-- > 0;) {
        if (++index[d] < counts_[d]) break;
        index[d] = 0;
      }
      is_first = false;
      end = 0;
      firsts_.push_back(static_cast<std::uint32_t>(i));
    }
    for (std::size_t d = 0; d < index.rank(); ++d)
      if (at.offset[d] != index[d] || at.shape[d] != 1)
        return error{errc::corrupt, "before its box " + to_string(at) +
                                        " there is a hole, or it has elements of several cells"};
    if (at.offset.back() < end) return overlap_of(of.chunks[i - 1].at, at);
    if (at.offset.back() > end)
      return error{errc::corrupt, "there is a hole before its box " + to_string(at)};
    end += at.shape.back();
    boxes_.push_back(static_cast<std::uint32_t>(i));
  }
  ZARRPOINT_TRY(cells, element_count(counts_));
  if (end != flat_ || firsts_.size() != static_cast<std::size_t>(cells))
    return error{errc::corrupt, "its boxes end before its last cell: it has a hole"};
  firsts_.push_back(static_cast<std::uint32_t>(of.chunks.size()));
  return {};
}

ZARRPOINT_INLINE box tensor_grid::chunk_box(const dims& index) const {
  if (flat_ >= 0) {
    box out{index, dims(index.rank(), 1)};
    out.offset.push_back(0);
    out.shape.push_back(flat_);
    return out;
  }
  box out{index, chunk_shape_};
  for (std::size_t d = 0; d < index.rank(); ++d) {
    if (edges_.empty()) {
      out.offset[d] = index[d] * chunk_shape_[d];
    } else {
      const axis_edges::chunk at = edges_[d].at(index[d]);
      out.offset[d] = at.start;
      out.shape[d] = at.extent;
    }
  }
  return out;
}

ZARRPOINT_INLINE std::size_t tensor_grid::place(const dims& index) const {
  std::size_t out = 0;
  for (std::size_t d = 0; d < index.rank(); ++d)
    out = out * static_cast<std::size_t>(counts_[d]) + static_cast<std::size_t>(index[d]);
  return out;
}

ZARRPOINT_INLINE std::span<const std::uint32_t> tensor_grid::boxes_of(const dims& index) const {
  const std::size_t at = place(index);
  return std::span(boxes_).subspan(firsts_[at], firsts_[at + 1] - firsts_[at]);
}

}}}}  // namespace zarrpoint::v0::dcp::detail
