// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

namespace zarrpoint::inline v0 {

/// A range of one axis as Python has it: from `start` to before `stop` by `step`. Negative ends
/// count from the end of the axis, those beyond it are cut, and absent ones mean all there is in
/// the direction of the step.
struct slice {
  std::optional<index_t> start{};
  std::optional<index_t> stop{};
  index_t step = 1;
};

/// Which coordinates of an axis are selected, in which order: evenly spaced ones, or a list.
class axis_index {
 public:
  /// All of an axis.
  explicit axis_index(index_t extent) : count_(extent) {}

  index_t size() const noexcept { return count_; }
  bool is_even() const noexcept { return list_ == nullptr; }
  /// Between neighbours of an even index; may be negative.
  index_t step() const noexcept { return step_; }
  index_t operator[](index_t i) const noexcept {
    return list_ != nullptr ? (*list_)[static_cast<std::size_t>(i)] : first_ + i * step_;
  }

  /// What `part` selects of these. Errors: `invalid_argument` for a step of 0.
  result<axis_index> sliced(const slice& part) const {
    if (part.step == 0) return error{errc::invalid_argument, "a slice with a step of 0"};
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

  /// Those of these that `positions` name, in their order; negative ones count from the end.
  /// Errors: `out_of_range`.
  result<axis_index> taken(std::span<const index_t> positions) const {
    for (const index_t one : positions) {
      if (one < -count_ || one >= count_)
        return error{errc::out_of_range, "index " + std::to_string(one) + " of an axis of length " +
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

 private:
  /// Becomes the list of what `position(i)` names in `from`.
  template <class F>
  axis_index picked(const F& position, const axis_index& from) {
    auto list = std::make_shared<std::vector<index_t>>();
    list->reserve(static_cast<std::size_t>(count_));
    for (index_t i = 0; i < count_; ++i) list->push_back(from[position(i)]);
    list_ = std::move(list);
    return *this;
  }

  index_t first_ = 0;
  index_t step_ = 1;
  index_t count_ = 0;
  std::shared_ptr<const std::vector<index_t>> list_;
};

}  // namespace zarrpoint::inline v0
