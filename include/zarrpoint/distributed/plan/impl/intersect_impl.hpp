// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/distributed/plan/intersect.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE box_list::box_list(std::size_t rank, std::span<const box> boxes) : rank_(rank) {
  reserve(boxes.size());
  for (const box& one : boxes) add(one);
}

ZARRPOINT_INLINE void box_list::add(std::span<const index_t> offset,
                                    std::span<const index_t> shape) {
  ZARRPOINT_ASSERT(offset.size() == rank_ && shape.size() == rank_);
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    bounds_.push_back(offset[axis]);
    bounds_.push_back(offset[axis] + shape[axis]);
  }
  ++size_;
}

ZARRPOINT_INLINE index_t box_list::begin(std::size_t i, std::size_t axis) const noexcept {
  return bounds_[2 * (i * rank_ + axis)];
}

ZARRPOINT_INLINE index_t box_list::end(std::size_t i, std::size_t axis) const noexcept {
  return bounds_[2 * (i * rank_ + axis) + 1];
}

ZARRPOINT_INLINE bool box_list::empty(std::size_t i) const noexcept {
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    if (begin(i, axis) >= end(i, axis)) return true;
  }
  return false;
}

ZARRPOINT_INLINE box box_list::at(std::size_t i) const {
  box out;
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    out.offset.push_back(begin(i, axis));
    out.shape.push_back(end(i, axis) - begin(i, axis));
  }
  return out;
}

ZARRPOINT_INLINE void axis_cuts::add(std::size_t axis, index_t from, index_t to) {
  std::vector<index_t>& cuts = axes_[axis];
  cuts.push_back(from);
  cuts.push_back(to);
  if (cuts.size() > 2 * sorted_[axis] + 4096) sort(axis);
}

ZARRPOINT_INLINE const std::vector<index_t>& axis_cuts::of(std::size_t axis) {
  sort(axis);
  return axes_[axis];
}

ZARRPOINT_INLINE void axis_cuts::sort(std::size_t axis) {
  std::vector<index_t>& cuts = axes_[axis];
  if (cuts.size() == sorted_[axis]) return;
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  sorted_[axis] = cuts.size();
}

ZARRPOINT_INLINE index_t saturating_mul(index_t a, index_t b) noexcept {
  index_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? INT64_MAX : out;
}

ZARRPOINT_INLINE std::vector<overlap> intersect(const box_list& stored, const box_list& wanted) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;  // wanted, stored
  for_each_overlap(stored, wanted, [&](std::uint32_t s, std::uint32_t w) {
    pairs.emplace_back(w, s);
    return true;
  });
  std::sort(pairs.begin(), pairs.end());
  std::vector<overlap> out;
  out.reserve(pairs.size());
  for (const auto& [w, s] : pairs) {
    overlap one{s, w, {}};
    for (std::size_t axis = 0; axis < stored.rank(); ++axis) {
      const index_t from = std::max(stored.begin(s, axis), wanted.begin(w, axis));
      one.part.offset.push_back(from);
      one.part.shape.push_back(std::min(stored.end(s, axis), wanted.end(w, axis)) - from);
    }
    out.push_back(one);
  }
  return out;
}

ZARRPOINT_INLINE std::vector<overlap> intersect(std::span<const box> stored,
                                                std::span<const box> wanted) {
  if (stored.empty() || wanted.empty()) return {};
  const std::size_t rank = stored.front().rank();
  return intersect(box_list(rank, stored), box_list(rank, wanted));
}

}}}  // namespace zarrpoint::v0::detail
