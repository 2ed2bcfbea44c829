// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/grid/axis_index.hpp>
#include <zarrpoint/array/grid/piece_grid.hpp>
#include <zarrpoint/array/grid/plan.hpp>
#include <zarrpoint/array/grid/raw_rows.hpp>
#include <zarrpoint/core/config.hpp>

#include <algorithm>

namespace zarrpoint { inline namespace v0 {

// ---------------------------------------------------------------------------------------- plan.hpp

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

// ------------------------------------------------------------------------------------ raw_rows.hpp

ZARRPOINT_INLINE std::optional<raw_rows> raw_rows::of(const selection& part,
                                                      const dims& chunk_shape,
                                                      const mutable_host_view& into) {
  const std::size_t element = into.type.size();
  const dims strides = row_major_strides(chunk_shape, element);
  raw_rows out{};
  out.run_bytes = element;
  std::size_t d = part.rank();
  bool whole_so_far = true;
  while (d > 0 && whole_so_far) {
    const std::size_t i = d - 1;
    const index_t count = part.shape[i];
    if (count != 1) {
      if (part.step[i] != 1 || into.strides[i] != static_cast<index_t>(out.run_bytes)) break;
    }
    out.run_bytes *= static_cast<std::size_t>(count);
    whole_so_far = count == chunk_shape[i];
    --d;
  }
  if (d == part.rank() && part.rank() != 0) return std::nullopt;
  out.outer_rank = d;
  for (std::size_t i = 0; i < part.rank(); ++i) {
    out.first += static_cast<std::uint64_t>(part.offset[i] * strides[i]);
    if (i >= d) continue;
    out.outer_shape.push_back(part.shape[i]);
    out.stored_strides.push_back(part.shape[i] == 1 ? 0 : strides[i] * part.step[i]);
    out.memory_strides.push_back(into.strides[i]);
  }
  return out;
}

ZARRPOINT_INLINE std::size_t raw_rows::count() const noexcept {
  std::size_t n = 1;
  for (const index_t extent : outer_shape) n *= static_cast<std::size_t>(extent);
  return n;
}

// ---------------------------------------------------------------------------------- piece_grid.hpp

ZARRPOINT_INLINE piece_grid piece_grid::make(const selection& part, const dims& unit,
                                             std::size_t element_size, std::size_t bytes) {
  piece_grid out;
  out.shape_ = out.lead_ = out.extent_ = part.shape;
  out.counts_ = dims(part.rank(), 1);
  std::size_t used = element_size;
  for (const index_t extent : part.shape) {
    if (extent == 0) {
      out.size_ = 0;
      return out;
    }
  }
  for (std::size_t d = 0; d < part.rank(); ++d)
    used *= static_cast<std::size_t>(std::min(unit_of(part, unit, d), part.shape[d]));
  bool full = false;  // what stands for the axes inside is all of them
  for (std::size_t d = part.rank(); d-- > 0;) {
    const index_t one = unit_of(part, unit, d);
    const index_t before = part.step[d] == 1 ? part.offset[d] % one : 0;
    const index_t needed = ceil_div(before + part.shape[d], one);
    const std::size_t room = full ? 1 : std::max<std::size_t>(bytes / used, 1);
    const index_t taken =
        static_cast<std::size_t>(needed) <= room ? needed : static_cast<index_t>(room);
    if (taken == needed) {
      used *= static_cast<std::size_t>(taken);  // at most what `room` allows
      continue;                                 // one piece along this axis
    }
    full = true;
    out.extent_[d] = taken * one;
    out.lead_[d] = out.extent_[d] - (part.step[d] == 1 ? part.offset[d] % out.extent_[d] : 0);
    if (out.lead_[d] < part.shape[d])
      out.counts_[d] = 1 + ceil_div(part.shape[d] - out.lead_[d], out.extent_[d]);
  }
  for (const index_t count : out.counts_) out.size_ *= static_cast<std::size_t>(count);
  return out;
}

ZARRPOINT_INLINE box piece_grid::at(std::size_t i) const {
  box out{dims(shape_.rank(), 0), shape_};
  for (std::size_t d = shape_.rank(); d-- > 0;) {
    const auto count = static_cast<std::size_t>(counts_[d]);
    const auto k = static_cast<index_t>(i % count);
    i /= count;
    out.offset[d] = k == 0 ? 0 : lead_[d] + (k - 1) * extent_[d];
    const index_t left = shape_[d] - out.offset[d];
    out.shape[d] = std::min(k == 0 ? lead_[d] : extent_[d], left);
  }
  return out;
}

ZARRPOINT_INLINE index_t piece_grid::unit_of(const selection& part, const dims& unit,
                                             std::size_t d) {
  return std::max<index_t>(unit[d] / part.step[d], 1);
}

ZARRPOINT_INLINE selection part_of(const selection& whole, const box& part) {
  selection out(part);
  for (std::size_t d = 0; d < part.rank(); ++d) {
    out.step[d] = whole.step[d];
    out.offset[d] = whole.offset[d] + part.offset[d] * whole.step[d];
  }
  return out;
}

}  // namespace detail

// ---------------------------------------------------------------------------------- axis_index.hpp

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

#if ZARRPOINT_BODIES
#include <zarrpoint/core/types/bodies.hpp>
#endif
