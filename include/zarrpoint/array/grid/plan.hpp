// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace zarrpoint { inline namespace v0 {

/// A regular grid of two levels: objects of the store (chunks, or shards), each cut into inner
/// chunks. Without shards the two shapes are equal. All extents are 1 or more. Those of
/// `inner_shape` divide those of `object_shape` as far as files are concerned. Where they do not,
/// the last inner chunk of an object is shorter, and selections must have steps of 1.
struct chunk_grid {
  dims shape;  ///< of the array
  dims object_shape;
  dims inner_shape;

  /// Objects along each axis.
  dims objects() const;
  /// Inner chunks of an object along each axis, those beyond the edge of the array included.
  dims inner_per_object() const;
};

namespace detail {

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

/// One axis of a plan: the inner chunks along it ("slabs") in order. Products and ends are
/// computed without a sign: the end of the last chunk may lie past 2^63.
class plan_axis {
 public:
  plan_axis() = default;
  plan_axis(const chunk_grid& grid, const selection& part, std::size_t axis, plan_scope scope);

  std::uint64_t slabs() const noexcept { return slabs_; }

  /// The object of slab `j`, and which slabs are its own.
  struct run {
    std::uint64_t object, begin, count;
  };
  run object_of(std::uint64_t j) const noexcept;

  /// Where slab `j` lies in the array, and the selected elements `[low, high)` in it.
  struct slab {
    std::uint64_t start, low, high;
  };
  slab at(std::uint64_t j) const noexcept;
  std::uint64_t element(std::uint64_t i) const noexcept { return first_ + i * step_; }

 private:
  static std::uint64_t word(index_t value) noexcept { return static_cast<std::uint64_t>(value); }

  /// Selected elements below coordinate `end`.
  std::uint64_t elements_before(std::uint64_t end) const noexcept;
  /// The inner chunk of a coordinate, counted along the axis.
  std::uint64_t cell(std::uint64_t at) const noexcept;
  // Up to a step of their size the cells that hold a selected element adjoin; beyond it each
  // element has a cell of its own.
  std::uint64_t objects() const noexcept;
  std::uint64_t object_position(std::uint64_t k) const noexcept;
  std::uint64_t inner_position(std::uint64_t j) const noexcept;
  /// Slabs that begin before coordinate `end`, an edge of an object.
  std::uint64_t slabs_before(std::uint64_t end) const noexcept;

  std::uint64_t first_ = 0, count_ = 0, step_ = 1, last_ = 0;
  std::uint64_t object_ = 1, inner_ = 1, per_object_ = 1;
  std::uint64_t slabs_ = 0;
  bool whole_ = false;
};

/// The inner chunks that a selection of an array calls for, object by object in row-major order and
/// in row-major order within each. A rule, not a list: item `i` is computed, so that a plan of 2^40
/// inner chunks costs as much as one of two.
class box_plan {
 public:
  /// `part` must have passed `check(grid.shape)`. Errors: `out_of_range` when the inner chunks
  /// cannot be counted.
  static result<box_plan> make(const chunk_grid& grid, const selection& part,
                               plan_scope scope = plan_scope::touched);

  /// The number of inner chunks.
  std::size_t size() const noexcept { return size_; }

  /// Inner chunk `i < size()`.
  plan_item at(std::size_t i) const;

  /// How many inner chunks lie along each axis of the object that holds inner chunk `i`; with `all`
  /// those of all objects, as if they were one.
  dims counts_at(std::size_t i, bool all) const;

 private:
  void place(plan_item& item, std::size_t d, const detail::plan_axis::slab& slab) const;

  chunk_grid grid_;
  selection part_;
  std::array<detail::plan_axis, max_rank> axes_;
  std::array<std::size_t, max_rank> tail_{};  // items of the axes after each
  std::size_t size_ = 1;
};

}  // namespace detail

}}  // namespace zarrpoint::v0
