// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Boxes of one rank, packed: 16 bytes for each axis of each.
class box_list {
 public:
  explicit box_list(std::size_t rank) : rank_(rank) {}
  box_list(std::size_t rank, std::span<const box> boxes);

  void reserve(std::size_t boxes) { bounds_.reserve(2 * rank_ * boxes); }
  /// Adds a box, which has the rank of the list and ends below 2^63.
  void add(const box& one) { add(one.offset, one.shape); }
  void add(std::span<const index_t> offset, std::span<const index_t> shape);

  std::size_t rank() const noexcept { return rank_; }
  std::size_t size() const noexcept { return size_; }
  index_t begin(std::size_t i, std::size_t axis) const noexcept {
    return bounds_[2 * (i * rank_ + axis)];
  }
  index_t end(std::size_t i, std::size_t axis) const noexcept {
    return bounds_[2 * (i * rank_ + axis) + 1];
  }
  bool empty(std::size_t i) const noexcept;
  box at(std::size_t i) const;

 private:
  std::size_t rank_ = 0;
  std::size_t size_ = 0;
  std::vector<index_t> bounds_;
};

/// Where boxes begin and end along each axis: sorted, each once. What is sorted already is dropped
/// now and then, since many boxes share few boundaries.
class axis_cuts {
 public:
  explicit axis_cuts(std::size_t rank) : axes_(rank), sorted_(rank, 0) {}

  void add(std::size_t axis, index_t from, index_t to);
  /// The boundaries along an axis; to be asked when all are there.
  const std::vector<index_t>& of(std::size_t axis);
  /// The box between boundaries along all axes that has that number in row-major order.
  box cell(std::size_t number);

 private:
  void sort(std::size_t axis);

  std::vector<std::vector<index_t>> axes_;
  std::vector<std::size_t> sorted_;
};

/// `a * b`, or the greatest number.
index_t saturating_mul(index_t a, index_t b) noexcept;

/// Finds the pairs of boxes of two lists that have elements in common. It goes axis after axis, by
/// halves of the places where boxes begin, and by a sweep along the last axis. This is the streamed
/// segment tree of Zomorodian and Edelsbrunner ("Fast software for box intersections", 2002).
///
/// Two intervals meet when one of them begins in the other. So each axis is asked twice, with
/// either list as that of the intervals and the other as that of the points. Where two begin at one
/// place the stored one counts as the first, which the keys of the places see to.
template <class Found>
class box_sweep {
 public:
  box_sweep(const box_list& stored, const box_list& wanted, Found& found)
      : lists_{&stored, &wanted}, found_(found) {}

  void run() {
    const std::size_t rank = lists_[0]->rank();
    indices all[2];
    for (const std::size_t side : {0U, 1U}) {
      for (std::size_t i = 0; i < lists_[side]->size(); ++i) {
        if (!lists_[side]->empty(i)) all[side].push_back(static_cast<std::uint32_t>(i));
      }
    }
    if (rank != 0) return ask_twice(std::move(all[0]), std::move(all[1]), rank - 1);
    for (const std::uint32_t stored : all[0])
      for (const std::uint32_t wanted : all[1]) report(0, stored, wanted);
  }

 private:
  using indices = std::vector<std::uint32_t>;
  using key = std::uint64_t;

  // So few are compared with all others.
  static constexpr std::size_t few = 12;

  /// `side` is the list of the intervals, 0 for the stored boxes.
  struct question {
    std::size_t side;
    std::size_t axis;
  };

  key begin(std::size_t side, std::uint32_t i, std::size_t axis) const {
    return 2 * static_cast<key>(lists_[side]->begin(i, axis)) + side;
  }
  key end(std::size_t side, std::uint32_t i, std::size_t axis) const {
    return 2 * static_cast<key>(lists_[side]->end(i, axis));
  }
  bool stabs(const question& ask, std::uint32_t interval, std::uint32_t point) const {
    const key at = begin(1 - ask.side, point, ask.axis);
    return begin(ask.side, interval, ask.axis) <= at && at < end(ask.side, interval, ask.axis);
  }
  /// Whether two meet along all axes before that of the question.
  bool meet(const question& ask, std::uint32_t interval, std::uint32_t point) const {
    const box_list& a = *lists_[ask.side];
    const box_list& b = *lists_[1 - ask.side];
    for (std::size_t axis = 0; axis < ask.axis; ++axis) {
      if (a.begin(interval, axis) >= b.end(point, axis) ||
          b.begin(point, axis) >= a.end(interval, axis))
        return false;
    }
    return true;
  }
  void report(std::size_t side, std::uint32_t interval, std::uint32_t point) {
    if (stopped_) return;
    stopped_ = !(side == 0 ? found_(interval, point) : found_(point, interval));
  }

  void ask_twice(indices stored, indices wanted, std::size_t axis) {
    descend({0, axis}, stored, wanted);
    descend({1, axis}, std::move(wanted), std::move(stored));
  }

  void compare_all(const question& ask, const indices& intervals, const indices& points) {
    for (const std::uint32_t i : intervals) {
      for (const std::uint32_t p : points) {
        if (stabs(ask, i, p) && meet(ask, i, p)) report(ask.side, i, p);
      }
      if (stopped_) return;
    }
  }

  void sort(std::size_t side, indices& list) const {
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
      return begin(side, a, 0) < begin(side, b, 0);
    };
    if (!std::is_sorted(list.begin(), list.end(), before))
      std::sort(list.begin(), list.end(), before);
  }

  /// Along axis 0, where what is stabbed is an answer.
  void sweep(const question& ask, indices intervals, indices points) {
    sort(ask.side, intervals);
    sort(1 - ask.side, points);
    std::size_t first = 0;
    for (const std::uint32_t i : intervals) {
      const key from = begin(ask.side, i, 0);
      while (first < points.size() && begin(1 - ask.side, points[first], 0) < from) ++first;
      for (std::size_t n = first; n < points.size() && stabs(ask, i, points[n]); ++n) {
        report(ask.side, i, points[n]);
        if (stopped_) return;
      }
    }
  }

  /// All pairs of an interval and a point in it that meet along the axes before, too.
  void descend(const question& ask, indices intervals, indices points) {
    if (intervals.empty() || points.empty() || stopped_) return;
    if (intervals.size() < few || points.size() < few) return compare_all(ask, intervals, points);
    if (ask.axis == 0) return sweep(ask, std::move(intervals), std::move(points));
    const auto place = [&](std::uint32_t p) { return begin(1 - ask.side, p, ask.axis); };
    const auto before = [&](std::uint32_t a, std::uint32_t b) { return place(a) < place(b); };
    const auto half = points.begin() + static_cast<std::ptrdiff_t>(points.size() / 2);
    std::nth_element(points.begin(), half, points.end(), before);
    const key least = place(*std::min_element(points.begin(), half + 1, before));
    const key most = place(*std::max_element(half, points.end(), before));
    // The upper half begins at `middle`; neither is empty unless all points are one.
    const key middle = std::max(place(*half), least + 1);

    indices spanning;
    indices lower;
    indices upper;
    for (const std::uint32_t i : intervals) {
      const key from = begin(ask.side, i, ask.axis);
      const key to = end(ask.side, i, ask.axis);
      if (from <= least && to > most) {
        spanning.push_back(i);
      } else {
        if (from < middle && to > least) lower.push_back(i);
        if (from <= most && to > middle) upper.push_back(i);
      }
    }
    intervals = {};
    if (!spanning.empty()) {
      // Along this axis they meet all the points: the axes before decide.
      ask.side == 0 ? ask_twice(std::move(spanning), points, ask.axis - 1)
                    : ask_twice(points, std::move(spanning), ask.axis - 1);
    }
    const auto cut = std::partition(points.begin(), points.end(),
                                    [&](std::uint32_t p) { return place(p) < middle; });
    indices behind(cut, points.end());
    points.erase(cut, points.end());
    descend(ask, std::move(lower), std::move(points));
    descend(ask, std::move(upper), std::move(behind));
  }

  const box_list* lists_[2];
  Found& found_;
  bool stopped_ = false;
};

/// Calls `found(stored index, wanted index)` once for each pair of boxes that have elements in
/// common, in no order, until it answers false. Never compares all with all: for boxes of `rank`
/// axes O(n log^rank n + answers) time at worst, O(n) memory. The lists are of one rank; no box
/// begins below 0.
template <class Found>
void for_each_overlap(const box_list& stored, const box_list& wanted, Found found) {
  ZARRPOINT_ASSERT(stored.rank() == wanted.rank());
  detail::box_sweep<Found>(stored, wanted, found).run();
}

}}}  // namespace zarrpoint::v0::detail
