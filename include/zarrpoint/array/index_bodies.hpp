// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/indexed_array.hpp>
#include <zarrpoint/array/shard/shard_index_cache.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// ------------------------------------------------------------------------------- indexed_array.hpp

ZARRPOINT_INLINE index_t chunk_along(const array& of, std::size_t axis, index_t at,
                                     bool whole_objects) {
  const std::vector<axis_edges>& edges = of.metadata().edges;
  if (!edges.empty()) return edges[axis].find(at).index;
  const chunk_grid& grid = of.layout().grid();
  return at / (whole_objects ? grid.object_shape : grid.inner_shape)[axis];
}

ZARRPOINT_INLINE std::vector<axis_group> group_axis(const array& of, std::size_t axis,
                                                    const axis_index& index, bool whole_objects) {
  std::map<index_t, axis_group> groups;
  for (index_t i = 0; i < index.size(); ++i) {
    const index_t at = index[i];
    axis_group& group = groups[chunk_along(of, axis, at, whole_objects)];
    group.low = group.members.empty() ? at : std::min(group.low, at);
    group.high = group.members.empty() ? at : std::max(group.high, at);
    group.members.push_back({at, i});
  }
  std::vector<axis_group> out;
  out.reserve(groups.size());
  for (auto& [chunk, group] : groups) out.push_back(std::move(group));
  return out;
}

ZARRPOINT_INLINE void copy_element(std::byte* to, const std::byte* from, const dtype& type) {
  if (type.is_variable()) {
    string_at(to, 0) = string_at(from, 0);
  } else {
    std::memcpy(to, from, type.size());
  }
}

ZARRPOINT_INLINE group_copy::group_copy(const std::vector<std::vector<axis_group>>& axes,
                                        std::size_t number)
    : groups_(axes.size()) {
  for (std::size_t d = axes.size(); d-- > 0;) {
    groups_[d] = &axes[d][number % axes[d].size()];
    number /= axes[d].size();
  }
}

ZARRPOINT_INLINE box group_copy::bounds() const {
  box out(dims(groups_.size(), 0), dims(groups_.size(), 0));
  for (std::size_t d = 0; d < groups_.size(); ++d) {
    out.offset[d] = groups_[d]->low;
    out.shape[d] = groups_[d]->high - groups_[d]->low + 1;
  }
  return out;
}

ZARRPOINT_INLINE bool group_copy::fill_bounds() const {
  return std::all_of(groups_.begin(), groups_.end(), [](const axis_group* group) {
    const auto extent = static_cast<std::size_t>(group->high - group->low + 1);
    if (group->members.size() != extent) return false;
    std::vector<bool> seen(extent);
    for (const picked_coordinate& one : group->members)
      seen[static_cast<std::size_t>(one.coordinate - group->low)] = true;
    return std::find(seen.begin(), seen.end(), false) == seen.end();
  });
}

/// The groups of every axis, and how many combinations of them there are.
struct gather_plan {
  std::vector<std::vector<axis_group>> axes;
  std::size_t size = 1;

  static result<gather_plan> make(const array& of, const std::vector<axis_index>& indices,
                                  bool whole_objects) {
    gather_plan out;
    // Of an empty selection the other axes may be of any length.
    for (const axis_index& one : indices)
      if (one.size() == 0) out.size = 0;
    if (out.size == 0) return out;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      out.axes.push_back(group_axis(of, d, indices[d], whole_objects));
      ZARRPOINT_TRY(size, checked_mul(out.size, out.axes.back().size()));
      out.size = size;
    }
    ZARRPOINT_CHECK(check_chunk_count(out.size, of.default_context().limit)
                        .at("array " + of.store().describe(of.key())));
    return out;
  }
};

/// Counts what a plan takes for a while at most: lists that grow.
inline result<void> charge_plan(const std::vector<axis_index>& indices, scratch_account& to) {
  std::size_t bytes = 0;
  for (const axis_index& one : indices)
    bytes += 3 * sizeof(picked_coordinate) * static_cast<std::size_t>(one.size());
  if (to.charge(bytes)) return {};
  return cannot_allocate(bytes, to.pool().resource(), "the plan of a selection");
}

ZARRPOINT_INLINE result<tensor> read_scratch(const array& of, const box& part,
                                             const read_options& options) {
  ZARRPOINT_TRY(out,
                tensor::make({of.metadata().type, part.shape}, options.how->scratch->resource()));
  ZARRPOINT_CHECK(of.read(part, out.mutable_view(), options));
  return std::move(out);
}

/// One whose parts no progress is told of.
inline context unseen_worker(const context& how) {
  context out = of_one_worker(how);
  out.progress = {};
  return out;
}

ZARRPOINT_INLINE result<void> gather(const array& of, const std::vector<axis_index>& indices,
                                     const mutable_host_view& into, const read_options& options) {
  const context& how = *options.how;
  const context alone = unseen_worker(how);
  scratch_account planned(*alone.scratch);
  ZARRPOINT_CHECK(charge_plan(indices, planned));
  ZARRPOINT_TRY(plan, gather_plan::make(of, indices, false));
  scratch_account text(*alone.scratch);
  shard_index_cache indexes(shard_index_cache::share_of(how.limit.memory));
  read_options each = options;
  each.how = &alone;
  if (each.indexes == nullptr) each.indexes = &indexes;
  each.cast = false;
  each.made = nullptr;  // the chunks are gone when this returns
  memory_bound_for items(how.executor, plan.size, {.stop = how.stop});
  return items.run(
      [&](std::size_t i) -> result<void> {
        const group_copy group(plan.axes, i);
        ZARRPOINT_TRY(chunk, read_scratch(of, group.bounds(), each));
        const host_view from = chunk.view();
        std::size_t bytes = 0;
        if (from.type.is_variable())
          group.for_each(from.strides, into.strides,
                         [&](index_t a, index_t) { bytes += string_at(from.data + a, 0).size(); });
        if (!text.charge(bytes)) return cannot_allocate(bytes, alone.scratch->resource(), "text");
        group.for_each(from.strides, into.strides, [&](index_t a, index_t b) {
          copy_element(into.data + b, from.data + a, from.type);
        });
        return {};
      },
      [&](std::size_t refused) -> std::size_t {
        alone.scratch->drop_idle();
        if (!of.metadata().type.is_variable()) return refused;
        text.clear();
        return 0;
      });
}

ZARRPOINT_INLINE result<void> scatter(const array& to, const std::vector<axis_index>& indices,
                                      const host_view& from, const write_options& options) {
  const context& how = *options.how;
  const context alone = unseen_worker(how);
  scratch_account planned(*alone.scratch);
  ZARRPOINT_CHECK(charge_plan(indices, planned));
  // Each stored object is one group, since it must have one writer at a time.
  ZARRPOINT_TRY(plan, gather_plan::make(to, indices, true));
  write_options each = options;
  each.how = &alone;
  std::mutex merging;
  memory_bound_for items(how.executor, plan.size, {.stop = how.stop});
  return items.run(
      [&](std::size_t i) -> result<void> {
        const group_copy group(plan.axes, i);
        const box bounds = group.bounds();
        tensor chunk;
        if (group.fill_bounds()) {
          ZARRPOINT_TRY(made, tensor::make({from.type, bounds.shape}, alone.scratch->resource()));
          chunk = std::move(made);
        } else {
          ZARRPOINT_TRY(read, read_scratch(to, bounds, read_options{.how = &alone}));
          chunk = std::move(read);
        }
        const mutable_host_view into = chunk.mutable_view();
        group.for_each(into.strides, from.strides, [&](index_t a, index_t b) {
          copy_element(into.data + a, from.data + b, from.type);
        });
        chunk_digests digests;
        write_options own = each;
        if (options.collected != nullptr) own.collected = &digests;
        ZARRPOINT_CHECK(to.write(bounds, chunk.view(), own));
        const std::lock_guard lock(merging);
        if (options.collected != nullptr) options.collected->merge(digests);
        return {};
      },
      [&](std::size_t refused) {
        alone.scratch->drop_idle();
        return refused;
      });
}

}  // namespace detail

ZARRPOINT_INLINE indexed_array::indexed_array(array of) : array_(std::move(of)) {
  const dims& shape = array_.metadata().shape;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    indices_.emplace_back(shape[d]);
    kept_.push_back(d);
  }
}

ZARRPOINT_INLINE dims indexed_array::shape() const {
  dims out;
  for (const std::size_t d : kept_) out.push_back(indices_[d].size());
  return out;
}

ZARRPOINT_INLINE result<indexed_array> indexed_array::sliced(std::size_t axis,
                                                             const slice& part) const {
  return guarded([&]() -> result<indexed_array> {
    ZARRPOINT_CHECK(check_axis(axis));
    ZARRPOINT_TRY(index, indices_[kept_[axis]].sliced(part));
    return with(axis, std::move(index));
  });
}

ZARRPOINT_INLINE result<indexed_array> indexed_array::taken(
    std::size_t axis, std::span<const index_t> positions) const {
  return guarded([&]() -> result<indexed_array> {
    ZARRPOINT_CHECK(check_axis(axis));
    ZARRPOINT_TRY(index, indices_[kept_[axis]].taken(positions));
    return with(axis, std::move(index));
  });
}

ZARRPOINT_INLINE result<indexed_array> indexed_array::taken(
    std::size_t axis, std::initializer_list<index_t> positions) const {
  return taken(axis, std::span<const index_t>(positions.begin(), positions.size()));
}

ZARRPOINT_INLINE result<indexed_array> indexed_array::masked(std::size_t axis,
                                                             const std::vector<bool>& mask) const {
  return guarded([&]() -> result<indexed_array> {
    ZARRPOINT_CHECK(check_axis(axis));
    if (static_cast<index_t>(mask.size()) != indices_[kept_[axis]].size())
      return error{errc::shape_mismatch, "the mask has " + std::to_string(mask.size()) +
                                             " elements, the axis has " +
                                             std::to_string(indices_[kept_[axis]].size())};
    std::vector<index_t> positions;
    for (std::size_t i = 0; i < mask.size(); ++i)
      if (mask[i]) positions.push_back(static_cast<index_t>(i));
    return taken(axis, positions);
  });
}

ZARRPOINT_INLINE result<indexed_array> indexed_array::at(std::size_t axis, index_t position) const {
  return guarded([&]() -> result<indexed_array> {
    ZARRPOINT_TRY(one, taken(axis, {position}));
    one.kept_.erase(one.kept_.begin() + static_cast<std::ptrdiff_t>(axis));
    return std::move(one);
  });
}

ZARRPOINT_INLINE result<indexed_array> indexed_array::transposed(const dims& order) const {
  return guarded([&]() -> result<indexed_array> {
    std::vector<bool> seen(kept_.size());
    indexed_array out = *this;
    out.kept_.clear();
    for (const index_t axis : order) {
      const bool fits = axis >= 0 && static_cast<std::size_t>(axis) < kept_.size();
      if (!fits || seen[static_cast<std::size_t>(axis)]) break;
      seen[static_cast<std::size_t>(axis)] = true;
      out.kept_.push_back(kept_[static_cast<std::size_t>(axis)]);
    }
    if (out.kept_.size() == kept_.size() && order.rank() == kept_.size()) return out;
    return error{errc::invalid_argument, to_string(order) + " is not a permutation of " +
                                             std::to_string(kept_.size()) + " axes"};
  });
}

ZARRPOINT_INLINE result<void> indexed_array::read(const mutable_host_view& into,
                                                  const read_options& options) const {
  return guarded([&]() -> result<void> {
    if (options.cast && into.type != array_.metadata().type && !is_even())
      return cast(into, options);
    ZARRPOINT_CHECK(check_memory(into.spec(), options.cast));
    mutable_host_view full = of_all_axes(into);
    if (is_even()) {
      const selection part = even_selection(full);
      return array_.read(part, full, options);
    }
    const context how = options.how != nullptr ? *options.how : array_.default_context();
    read_options with_context = options;
    with_context.how = &how;
    return detail::gather(array_, indices_, full, with_context);
  });
}

ZARRPOINT_INLINE result<tensor> indexed_array::read(const read_options& options) const {
  return guarded([&]() -> result<tensor> {
    const context how =
        with_scratch(options.how != nullptr ? *options.how : array_.default_context());
    scratch_account made(*how.scratch);
    read_options by = options;
    by.how = &how;
    ZARRPOINT_TRY(out, detail::make_tensor(spec(), how, made));
    ZARRPOINT_CHECK(read(out.mutable_view(), by));
    return std::move(out);
  });
}

ZARRPOINT_INLINE result<void> indexed_array::write(const host_view& from,
                                                   const write_options& options) const {
  return guarded([&]() -> result<void> {
    ZARRPOINT_CHECK(check_memory(from.spec(), options.cast && is_even()));
    host_view full = of_all_axes(from);
    if (is_even()) {
      const selection part = even_selection(full);
      return array_.write(part, full, options);
    }
    const context how = options.how != nullptr ? *options.how : array_.default_context();
    write_options with_context = options;
    with_context.how = &how;
    return detail::scatter(array_, indices_, full, with_context);
  });
}

ZARRPOINT_INLINE result<void> indexed_array::check_axis(std::size_t axis) const {
  if (axis < kept_.size()) return {};
  return error{errc::invalid_argument, "there is no axis " + std::to_string(axis) +
                                           "; the rank is " + std::to_string(kept_.size())};
}

ZARRPOINT_INLINE result<void> indexed_array::check_memory(const tensor_spec& memory,
                                                          bool cast) const {
  const dtype& type = array_.metadata().type;
  if (cast ? !memory.type.castable_to(type) : memory.type != type)
    return error{errc::dtype_mismatch, "the array is of type " + std::string(to_string(type)) +
                                           ", not " + std::string(to_string(memory.type))};
  if (memory.shape == shape()) return {};
  return error{errc::shape_mismatch, "the selection has shape " + to_string(shape()) +
                                         ", the memory " + to_string(memory.shape)};
}

ZARRPOINT_INLINE indexed_array indexed_array::with(std::size_t axis, axis_index index) const {
  indexed_array out = *this;
  out.indices_[kept_[axis]] = std::move(index);
  return out;
}

ZARRPOINT_INLINE bool indexed_array::is_even() const {
  for (const axis_index& one : indices_)
    if (!one.is_even() && one.size() > 1) return false;
  return true;
}

ZARRPOINT_INLINE result<void> indexed_array::cast(const mutable_host_view& into,
                                                  read_options options) const {
  ZARRPOINT_CHECK(check_memory(into.spec(), true));
  const context how =
      with_scratch(options.how != nullptr ? *options.how : array_.default_context());
  options.cast = false;
  options.how = &how;
  ZARRPOINT_TRY(values, tensor::make(spec(), how.scratch->resource()));
  ZARRPOINT_CHECK(read(values.mutable_view(), options));
  return detail::cast_elements(into, values.view());
}

ZARRPOINT_INLINE result<void> read_points(const array& of, std::span<const dims> points,
                                          const mutable_host_view& into,
                                          const read_options& options) {
  return guarded([&]() -> result<void> {
    const array_metadata& metadata = of.metadata();
    const std::size_t rank = metadata.shape.rank();
    if (into.type != metadata.type || into.rank() != 1 ||
        into.shape[0] != static_cast<index_t>(points.size()))
      return error{errc::shape_mismatch, "the memory is " + to_string(into.spec()) + ", wanted " +
                                             std::to_string(points.size()) + " points of " +
                                             std::string(to_string(metadata.type))};
    std::map<std::vector<index_t>, std::vector<std::size_t>> by_chunk;
    for (std::size_t i = 0; i < points.size(); ++i) {
      ZARRPOINT_CHECK(selection(box{points[i], dims(points[i].rank(), 1)}).check(metadata.shape));
      std::vector<index_t> chunk;
      for (std::size_t d = 0; d < rank; ++d)
        chunk.push_back(detail::chunk_along(of, d, points[i][d], false));
      by_chunk[std::move(chunk)].push_back(i);
    }
    std::vector<const std::vector<std::size_t>*> groups;
    groups.reserve(by_chunk.size());
    for (const auto& [chunk, members] : by_chunk) groups.push_back(&members);
    const context how = options.how != nullptr ? *options.how : of.default_context();
    const context alone = detail::unseen_worker(how);
    shard_index_cache indexes(shard_index_cache::share_of(how.limit.memory));
    read_options each = options;
    each.how = &alone;
    if (each.indexes == nullptr) each.indexes = &indexes;
    detail::memory_bound_for items(how.executor, groups.size(), {.stop = how.stop});
    return items.run(
        [&](std::size_t g) -> result<void> {
          box bounds{points[groups[g]->front()], dims(rank, 1)};
          for (const std::size_t i : *groups[g]) {
            for (std::size_t d = 0; d < rank; ++d) {
              const index_t end = std::max(bounds.offset[d] + bounds.shape[d], points[i][d] + 1);
              bounds.offset[d] = std::min(bounds.offset[d], points[i][d]);
              bounds.shape[d] = end - bounds.offset[d];
            }
          }
          ZARRPOINT_TRY(chunk, detail::read_scratch(of, bounds, each));
          const host_view from = chunk.view();
          for (const std::size_t i : *groups[g]) {
            index_t at = 0;
            for (std::size_t d = 0; d < rank; ++d)
              at += (points[i][d] - bounds.offset[d]) * from.strides[d];
            detail::copy_element(into.data + static_cast<index_t>(i) * into.strides[0],
                                 from.data + at, from.type);
          }
          return {};
        },
        [&](std::size_t refused) {
          alone.scratch->drop_idle();
          return refused;
        });
  });
}

ZARRPOINT_INLINE result<tensor> read_masked(const array& of, const host_view& mask,
                                            const read_options& options) {
  return guarded([&]() -> result<tensor> {
    if (mask.type != dtype_kind::bool_)
      return error{errc::dtype_mismatch,
                   "a mask must be of type bool, not " + std::string(to_string(mask.type))};
    if (mask.shape != of.metadata().shape)
      return error{errc::shape_mismatch, "the mask has shape " + to_string(mask.shape) +
                                             ", the array " + to_string(of.metadata().shape)};
    std::vector<dims> points;
    if (!box::whole(mask.shape).empty()) {
      dims at(mask.rank(), 0);
      while (true) {
        index_t offset = 0;
        for (std::size_t d = 0; d < at.rank(); ++d) offset += at[d] * mask.strides[d];
        if (mask.data[offset] != std::byte{0}) points.push_back(at);
        std::size_t d = at.rank();
        while (d > 0 && ++at[d - 1] == mask.shape[d - 1]) at[--d] = 0;
        if (d == 0) break;
      }
    }
    const context how = with_scratch(options.how != nullptr ? *options.how : of.default_context());
    scratch_account made(*how.scratch);
    read_options by = options;
    by.how = &how;
    const tensor_spec spec{of.metadata().type, {static_cast<index_t>(points.size())}};
    ZARRPOINT_TRY(out, detail::make_tensor(spec, how, made));
    ZARRPOINT_CHECK(read_points(of, points, out.mutable_view(), by));
    return std::move(out);
  });
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/array/array_bodies.hpp>
#include <zarrpoint/handler/types/bodies.hpp>
#endif
