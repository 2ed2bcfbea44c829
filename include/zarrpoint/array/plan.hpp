// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/dims.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace zarrpoint::inline v0 {

/// A regular grid of two levels: objects of the store (chunks, or shards), each cut into inner
/// chunks. Without shards the two shapes are equal. All extents are 1 or more. Those of
/// `inner_shape` divide those of `object_shape` as far as files are concerned; where they do not,
/// the last inner chunk of an object is shorter, and selections must have steps of 1.
struct chunk_grid {
  dims shape;  ///< of the array
  dims object_shape;
  dims inner_shape;

  /// Objects along each axis.
  dims objects() const {
    dims out(shape.rank(), 0);
    for (std::size_t i = 0; i < shape.rank(); ++i) out[i] = ceil_div(shape[i], object_shape[i]);
    return out;
  }
  /// Inner chunks of an object along each axis, those beyond the edge of the array included.
  dims inner_per_object() const {
    dims out(shape.rank(), 0);
    for (std::size_t i = 0; i < shape.rank(); ++i)
      out[i] = ceil_div(object_shape[i], inner_shape[i]);
    return out;
  }
};

/// Which inner chunks of the objects that a selection touches belong to a plan.
enum class plan_scope : std::uint8_t {
  touched,        ///< those that hold an element of the selection: for reads
  whole_objects,  ///< all within the array: for writes, which make whole objects
};

/// One inner chunk of a plan.
struct plan_item {
  dims object;               ///< position of the object in the grid
  dims inner;                ///< position of the inner chunk in its object
  dims first_element;        ///< of the inner chunk, in the array
  selection within;          ///< the selected elements, counted from `first_element`; may be none
  dims at;                   ///< their first element, or the next one, counted in the selection
  std::size_t object_first;  ///< the object's first item in the plan
  std::size_t object_items;  ///< the object's items, which follow one another

  /// The selected elements as a box of the selection.
  box destination() const { return {at, within.shape}; }
};

namespace detail {

/// One axis of a plan: the inner chunks along it ("slabs") in order. Products and ends are
/// computed without a sign: the end of the last chunk may lie past 2^63.
class plan_axis {
 public:
  plan_axis() = default;
  plan_axis(const chunk_grid& grid, const selection& part, std::size_t axis, plan_scope scope)
      : first_(word(part.offset[axis])),
        count_(word(part.shape[axis])),
        step_(word(part.step[axis])),
        object_(word(grid.object_shape[axis])),
        inner_(word(grid.inner_shape[axis])),
        per_object_(ceil_div(object_, inner_)),
        whole_(scope == plan_scope::whole_objects) {
    if (count_ == 0) return;
    last_ = first_ + (count_ - 1) * step_;
    if (whole_) {
      const std::uint64_t touched = objects();
      const std::uint64_t start = object_position(touched - 1) * object_;
      const std::uint64_t inside = std::min(object_, word(grid.shape[axis]) - start);
      slabs_ = (touched - 1) * per_object_ + ceil_div(inside, inner_);
    } else {
      slabs_ = step_ <= inner_ ? cell(last_) - cell(first_) + 1 : count_;
    }
  }

  std::uint64_t slabs() const noexcept { return slabs_; }

  /// The object of slab `j`, and which slabs are its own.
  struct run {
    std::uint64_t object, begin, count;
  };
  run object_of(std::uint64_t j) const noexcept {
    if (whole_) {
      const std::uint64_t k = j / per_object_;
      const std::uint64_t begin = k * per_object_;
      return {object_position(k), begin, std::min(per_object_, slabs_ - begin)};
    }
    const std::uint64_t object = inner_position(j) / per_object_;
    const std::uint64_t begin = slabs_before(object * object_);
    return {object, begin, slabs_before((object + 1) * object_) - begin};
  }

  /// Where slab `j` lies in the array, and the selected elements `[low, high)` in it.
  struct slab {
    std::uint64_t start, low, high;
  };
  slab at(std::uint64_t j) const noexcept {
    const run own = object_of(j);
    const std::uint64_t inner =
        whole_ ? j - own.begin : inner_position(j) - own.object * per_object_;
    const std::uint64_t start = own.object * object_ + inner * inner_;
    const std::uint64_t end = std::min(start + inner_, (own.object + 1) * object_);
    return {start, elements_before(start), elements_before(end)};
  }
  std::uint64_t element(std::uint64_t i) const noexcept { return first_ + i * step_; }

 private:
  static std::uint64_t word(index_t value) noexcept { return static_cast<std::uint64_t>(value); }

  /// Selected elements below coordinate `end`.
  std::uint64_t elements_before(std::uint64_t end) const noexcept {
    return end <= first_ ? 0 : std::min(ceil_div(end - first_, step_), count_);
  }
  /// The inner chunk of a coordinate, counted along the axis.
  std::uint64_t cell(std::uint64_t at) const noexcept {
    return at / object_ * per_object_ + at % object_ / inner_;
  }
  // Up to a step of their size the cells that hold a selected element adjoin; beyond it each
  // element has a cell of its own.
  std::uint64_t objects() const noexcept {
    return step_ <= object_ ? last_ / object_ - first_ / object_ + 1 : count_;
  }
  std::uint64_t object_position(std::uint64_t k) const noexcept {
    return step_ <= object_ ? first_ / object_ + k : element(k) / object_;
  }
  std::uint64_t inner_position(std::uint64_t j) const noexcept {
    return step_ <= inner_ ? cell(first_) + j : cell(element(j));
  }
  /// Slabs that begin before coordinate `end`, an edge of an object.
  std::uint64_t slabs_before(std::uint64_t end) const noexcept {
    if (step_ > inner_) return elements_before(end);
    const std::uint64_t first = cell(first_);
    return cell(end) <= first ? 0 : std::min(cell(end) - first, slabs_);
  }

  std::uint64_t first_ = 0, count_ = 0, step_ = 1, last_ = 0;
  std::uint64_t object_ = 1, inner_ = 1, per_object_ = 1;
  std::uint64_t slabs_ = 0;
  bool whole_ = false;
};

}  // namespace detail

/// The inner chunks that a selection of an array calls for, object by object in row-major order and
/// in row-major order within each. A rule, not a list: item `i` is computed, so that a plan of 2^40
/// inner chunks costs as much as one of two.
class box_plan {
 public:
  /// `part` must have passed `check(grid.shape)`. Errors: `out_of_range` when the inner chunks
  /// cannot be counted.
  static result<box_plan> make(const chunk_grid& grid, const selection& part,
                               plan_scope scope = plan_scope::touched) {
    box_plan plan;
    plan.grid_ = grid;
    plan.part_ = part;
    const std::size_t rank = grid.shape.rank();
    for (std::size_t d = 0; d < rank; ++d) plan.axes_[d] = detail::plan_axis(grid, part, d, scope);
    for (std::size_t d = rank; d-- > 0;) {
      plan.tail_[d] = plan.size_;
      ZARRPOINT_TRY(size, checked_mul<std::size_t>(plan.size_, plan.axes_[d].slabs()));
      plan.size_ = size;
    }
    return plan;
  }

  /// The number of inner chunks.
  std::size_t size() const noexcept { return size_; }

  /// Inner chunk `i < size()`.
  plan_item at(std::size_t i) const {
    const std::size_t rank = grid_.shape.rank();
    plan_item item;
    item.object = item.inner = item.first_element = item.at = dims(rank, 0);
    item.within = selection(dims(rank, 0), dims(rank, 0), part_.step);
    // Axis by axis: which object, by the number of items in those before it. What is left over at
    // the end counts the items within the object.
    std::array<detail::plan_axis::run, max_rank> runs;
    std::size_t rest = i;
    std::size_t items = 1;
    for (std::size_t d = 0; d < rank; ++d) {
      const std::size_t unit = items * tail_[d];
      runs[d] = axes_[d].object_of(rest / unit);
      rest -= runs[d].begin * unit;
      items *= runs[d].count;
      item.object[d] = static_cast<index_t>(runs[d].object);
    }
    item.object_first = i - rest;
    item.object_items = items;
    for (std::size_t d = rank; d-- > 0;) {
      const std::uint64_t local = rest % runs[d].count;
      rest /= runs[d].count;
      place(item, d, axes_[d].at(runs[d].begin + local));
    }
    return item;
  }

  /// How many inner chunks lie along each axis of the object that holds inner chunk `i`; with `all`
  /// those of all objects, as if they were one.
  dims counts_at(std::size_t i, bool all) const {
    const std::size_t rank = grid_.shape.rank();
    dims out(rank, 0);
    std::size_t rest = i;
    std::size_t items = 1;
    for (std::size_t d = 0; d < rank; ++d) {
      const std::size_t unit = items * tail_[d];
      const detail::plan_axis::run run = axes_[d].object_of(rest / unit);
      rest -= run.begin * unit;
      items *= run.count;
      out[d] = static_cast<index_t>(all ? axes_[d].slabs() : run.count);
    }
    return out;
  }

 private:
  void place(plan_item& item, std::size_t d, const detail::plan_axis::slab& slab) const {
    const auto start = static_cast<index_t>(slab.start);
    item.first_element[d] = start;
    item.inner[d] = (start - item.object[d] * grid_.object_shape[d]) / grid_.inner_shape[d];
    item.at[d] = static_cast<index_t>(slab.low);
    if (slab.high <= slab.low) return;
    item.within.offset[d] = static_cast<index_t>(axes_[d].element(slab.low)) - start;
    item.within.shape[d] = static_cast<index_t>(slab.high - slab.low);
  }

  chunk_grid grid_;
  selection part_;
  std::array<detail::plan_axis, max_rank> axes_;
  std::array<std::size_t, max_rank> tail_{};  // items of the axes after each
  std::size_t size_ = 1;
};

}  // namespace zarrpoint::inline v0
