// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/grid/plan.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/dims.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE dims chunk_grid::objects() const {
  dims out(shape.rank(), 0);
  for (std::size_t i = 0; i < shape.rank(); ++i) out[i] = ceil_div(shape[i], object_shape[i]);
  return out;
}

ZARRPOINT_INLINE dims chunk_grid::inner_per_object() const {
  dims out(shape.rank(), 0);
  for (std::size_t i = 0; i < shape.rank(); ++i) out[i] = ceil_div(object_shape[i], inner_shape[i]);
  return out;
}

namespace detail {

ZARRPOINT_INLINE plan_axis::plan_axis(const chunk_grid& grid, const selection& part,
                                      std::size_t axis, plan_scope scope)
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

ZARRPOINT_INLINE plan_axis::run plan_axis::object_of(std::uint64_t j) const noexcept {
  if (whole_) {
    const std::uint64_t k = j / per_object_;
    const std::uint64_t begin = k * per_object_;
    return {object_position(k), begin, std::min(per_object_, slabs_ - begin)};
  }
  const std::uint64_t object = inner_position(j) / per_object_;
  const std::uint64_t begin = slabs_before(object * object_);
  return {object, begin, slabs_before((object + 1) * object_) - begin};
}

ZARRPOINT_INLINE plan_axis::slab plan_axis::at(std::uint64_t j) const noexcept {
  const run own = object_of(j);
  const std::uint64_t inner = whole_ ? j - own.begin : inner_position(j) - own.object * per_object_;
  const std::uint64_t start = own.object * object_ + inner * inner_;
  const std::uint64_t end = std::min(start + inner_, (own.object + 1) * object_);
  return {start, elements_before(start), elements_before(end)};
}

ZARRPOINT_INLINE std::uint64_t plan_axis::elements_before(std::uint64_t end) const noexcept {
  return end <= first_ ? 0 : std::min(ceil_div(end - first_, step_), count_);
}

ZARRPOINT_INLINE std::uint64_t plan_axis::cell(std::uint64_t at) const noexcept {
  return at / object_ * per_object_ + at % object_ / inner_;
}

ZARRPOINT_INLINE std::uint64_t plan_axis::objects() const noexcept {
  return step_ <= object_ ? last_ / object_ - first_ / object_ + 1 : count_;
}

ZARRPOINT_INLINE std::uint64_t plan_axis::object_position(std::uint64_t k) const noexcept {
  return step_ <= object_ ? first_ / object_ + k : element(k) / object_;
}

ZARRPOINT_INLINE std::uint64_t plan_axis::inner_position(std::uint64_t j) const noexcept {
  return step_ <= inner_ ? cell(first_) + j : cell(element(j));
}

ZARRPOINT_INLINE std::uint64_t plan_axis::slabs_before(std::uint64_t end) const noexcept {
  if (step_ > inner_) return elements_before(end);
  const std::uint64_t first = cell(first_);
  return cell(end) <= first ? 0 : std::min(cell(end) - first, slabs_);
}

ZARRPOINT_INLINE result<box_plan> box_plan::make(const chunk_grid& grid, const selection& part,
                                                 plan_scope scope) {
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

ZARRPOINT_INLINE plan_item box_plan::at(std::size_t i) const {
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

ZARRPOINT_INLINE dims box_plan::counts_at(std::size_t i, bool all) const {
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

ZARRPOINT_INLINE void box_plan::place(plan_item& item, std::size_t d,
                                      const detail::plan_axis::slab& slab) const {
  const auto start = static_cast<index_t>(slab.start);
  item.first_element[d] = start;
  item.inner[d] = (start - item.object[d] * grid_.object_shape[d]) / grid_.inner_shape[d];
  item.at[d] = static_cast<index_t>(slab.low);
  if (slab.high <= slab.low) return;
  item.within.offset[d] = static_cast<index_t>(axes_[d].element(slab.low)) - start;
  item.within.shape[d] = static_cast<index_t>(slab.high - slab.low);
}

}  // namespace detail

}}  // namespace zarrpoint::v0
