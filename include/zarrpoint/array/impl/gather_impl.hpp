// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_class.hpp>
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/gather.hpp>
#include <zarrpoint/array/grid/axis_index.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/array/shard/shard_index_cache.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/exec/memory_bound_for.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

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

ZARRPOINT_INLINE result<void> gather(const array& of, const std::vector<axis_index>& indices,
                                     const mutable_host_view& into, const read_options& options) {
  const context& how = *options.how;
  const context alone = of_one_worker(how);
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
  const context alone = of_one_worker(how);
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

}}}  // namespace zarrpoint::v0::detail
