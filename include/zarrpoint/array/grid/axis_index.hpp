// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

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
  index_t operator[](index_t i) const noexcept;

  /// What `part` selects of these. Errors: `invalid_argument` for a step of 0.
  result<axis_index> sliced(const slice& part) const;

  /// Those of these that `positions` name, in their order; negative ones count from the end.
  /// Errors: `out_of_range`.
  result<axis_index> taken(std::span<const index_t> positions) const;

 private:
  /// Becomes the list of what `position(i)` names in `from`.
  template <class F>
  axis_index picked(const F& position, const axis_index& from) {
    auto list = detail::make_counted<std::vector<index_t>>();
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

}}  // namespace zarrpoint::v0
