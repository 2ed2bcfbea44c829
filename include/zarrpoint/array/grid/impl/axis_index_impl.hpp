// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/grid/axis_index.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE index_t axis_index::operator[](index_t i) const noexcept {
  return list_ != nullptr ? (*list_)[static_cast<std::size_t>(i)] : first_ + i * step_;
}

ZARRPOINT_INLINE result<axis_index> axis_index::sliced(const slice& part) const {
  if (part.step == 0) return error{errc::invalid_argument, "the step of a slice must not be 0"};
  const bool forward = part.step > 0;
  // Where a walk may stand: `-1` is before the first going backwards.
  const index_t low = forward ? 0 : -1;
  const index_t high = forward ? count_ : count_ - 1;
  const auto place = [&](const std::optional<index_t>& given, index_t otherwise) {
    if (!given) return otherwise;
    return std::clamp(*given < 0 ? *given + count_ : *given, low, high);
  };
  const index_t start = place(part.start, forward ? low : high);
  const index_t stop = place(part.stop, forward ? high : low);
  const index_t distance = forward ? stop - start : start - stop;
  // A step larger than the axis is as good as one of its size.
  const index_t step =
      std::clamp(part.step, -std::max<index_t>(count_, 1), std::max<index_t>(count_, 1));
  const index_t size = forward ? step : -step;
  axis_index out = *this;
  out.count_ = distance <= 0 ? 0 : (distance - 1) / size + 1;
  if (out.count_ == 0) {
    out.list_.reset();
    return out;
  }
  if (list_ != nullptr) return out.picked([&](index_t i) { return start + i * step; }, *this);
  out.first_ = (*this)[start];
  out.step_ = out.count_ == 1 ? 1 : step_ * step;
  return out;
}

ZARRPOINT_INLINE result<axis_index> axis_index::taken(std::span<const index_t> positions) const {
  for (const index_t one : positions) {
    if (one < -count_ || one >= count_)
      return error{errc::out_of_range, "index " + std::to_string(one) +
                                           " is outside an axis of length " +
                                           std::to_string(count_)};
  }
  axis_index out = *this;
  out.count_ = static_cast<index_t>(positions.size());
  return out.picked(
      [&](index_t i) {
        const index_t one = positions[static_cast<std::size_t>(i)];
        return one < 0 ? one + count_ : one;
      },
      *this);
}

}}  // namespace zarrpoint::v0
