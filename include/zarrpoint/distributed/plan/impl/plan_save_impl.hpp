// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/plan/intersect.hpp>
#include <zarrpoint/distributed/plan/plan_save.hpp>
#include <zarrpoint/distributed/plan/save_plan.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE axis_edges edges_between(const std::vector<index_t>& cuts) {
  std::vector<chunk_run> runs;
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    const index_t extent = cuts[i] - cuts[i - 1];
    if (!runs.empty() && runs.back().extent == extent) {
      ++runs.back().count;
    } else {
      runs.push_back({extent, 1});
    }
  }
  return axis_edges(std::move(runs));
}

/// Plans tensor after tensor.
class save_planner {
 public:
  save_planner(const shard_table& table, const plan_limits& limits)
      : table_(table), limits_(limits) {}

  /// Plans the tensor of `form`, which is stored as `shards`, in order.
  result<void> add(const shard_form& form, std::span<const sorted_shard> shards) {
    planned_tensor tensor{.key = form.key,
                          .type = form.type,
                          .grid = {dims(std::span<const index_t>(form.global_shape)), {}},
                          .prepended_axes = form.prepended_axes,
                          .is_flat = form.is_flat,
                          .first_cell = static_cast<std::uint32_t>(plan_.cells.size())};
    ZARRPOINT_CHECK(element_count(tensor.grid.shape).at("plan of \"" + form.key + "\""));
    for (const sorted_shard& one : shards) ZARRPOINT_CHECK(check(form, one.shard));
    if (form.is_regular) {
      for (std::size_t axis = 0; axis < form.rank(); ++axis) {
        const bool prepended = axis < form.prepended_axes;
        const index_t local = prepended ? 1 : form.local_shape[axis - form.prepended_axes];
        tensor.grid.cell_shape.push_back(std::max<index_t>(local, 1));
      }
    } else {
      ZARRPOINT_TRY(grid, irregular_grid(form, shards));
      tensor.grid = std::move(grid);
    }
    ZARRPOINT_CHECK(add_cells(tensor, shards));
    tensor.cells = static_cast<std::uint32_t>(plan_.cells.size()) - tensor.first_cell;
    plan_.tensors.push_back(std::move(tensor));
    return {};
  }

  save_plan take() && { return std::move(plan_); }

 private:
  /// The shards may come from processes that disagree, where nobody validated them.
  result<void> check(const shard_form& form, std::uint32_t shard) const {
    const shard_form& own = table_.form(shard);
    const std::string where = "plan of \"" + form.key + "\": ";
    if (own.global_shape != form.global_shape || own.type != form.type ||
        own.is_flat != form.is_flat || own.is_regular != form.is_regular ||
        own.prepended_axes != form.prepended_axes || own.local_shape != form.local_shape)
      return error{errc::invalid_argument, where + "its shards are of different tensors"};
    for (std::size_t axis = 0; axis < form.rank(); ++axis) {
      const index_t offset = table_.offset(shard)[axis];
      const index_t extent = table_.extent(shard, axis);
      if (offset < 0 || extent < 1 || extent > form.global_shape[axis] - offset ||
          (form.is_regular && offset % extent != 0))
        return error{errc::invalid_argument,
                     where + "a shard at " + to_string(dims(table_.offset(shard))) +
                         " is not one of a tensor of shape " +
                         to_string(dims(std::span<const index_t>(form.global_shape)))};
    }
    return {};
  }

  /// The number behind the last of those shards from `first` that are pieces of one.
  std::size_t group_end(std::span<const sorted_shard> shards, std::size_t first) const {
    std::size_t end = first + 1;
    if (!table_.form(shards[first].shard).is_flat) return end;
    const auto shape = table_.local_shape(shards[first].shard);
    while (end < shards.size() && shards[end].place == shards[first].place &&
           std::ranges::equal(shape, table_.local_shape(shards[end].shard)))
      ++end;
    return end;
  }

  /// Cells of one shape where that takes not many more of them than there are shards; else cells
  /// between all boundaries.
  result<write_grid> irregular_grid(const shard_form& form, std::span<const sorted_shard> shards) {
    write_grid grid{dims(std::span<const index_t>(form.global_shape)), {}};
    cuts_ = axis_cuts(form.rank());
    std::size_t boxes = 0;
    for (std::size_t i = 0; i < shards.size(); i = group_end(shards, i), ++boxes) {
      for (std::size_t axis = 0; axis < form.rank(); ++axis) {
        const index_t from = table_.offset(shards[i].shard)[axis];
        cuts_.add(axis, from, from + table_.extent(shards[i].shard, axis));
      }
    }
    index_t regular = 1;
    index_t rectilinear = 1;
    for (std::size_t axis = 0; axis < form.rank(); ++axis) {
      // The ends of the tensor bound cells, too, also where no shard is there.
      cuts_.add(axis, 0, form.global_shape[axis]);
      const std::vector<index_t>& cuts = cuts_.of(axis);
      index_t step = 0;
      for (const index_t cut : cuts) step = std::gcd(step, cut);
      step = std::max<index_t>(step, 1);
      grid.cell_shape.push_back(step);
      regular = saturating_mul(regular, form.global_shape[axis] / step);
      rectilinear = saturating_mul(rectilinear, static_cast<index_t>(cuts.size()) - 1);
    }
    if (regular <= 4 * static_cast<index_t>(boxes)) return grid;
    if (rectilinear > limits_.max_cells)
      return error{errc::resource_limit, "plan of \"" + form.key + "\": " + std::to_string(boxes) +
                                             " uneven shards make " + std::to_string(rectilinear) +
                                             " cells, more than the limit of " +
                                             std::to_string(limits_.max_cells)};
    for (std::size_t axis = 0; axis < form.rank(); ++axis) {
      grid.edges.push_back(edges_between(cuts_.of(axis)));
      grid.cell_shape[axis] = grid.edges[axis].largest();
    }
    return grid;
  }

  result<void> add_cells(const planned_tensor& tensor, std::span<const sorted_shard> shards) {
    const std::string where = "plan of \"" + tensor.key + "\": ";
    ZARRPOINT_TRY(most, tensor.grid.cells());
    counts_.clear();
    for (std::size_t axis = 0; axis < tensor.grid.shape.rank(); ++axis)
      counts_.push_back(tensor.grid.cells_along(axis));
    for (std::size_t i = 0; i < shards.size();) {
      const std::size_t end = group_end(shards, i);
      planned_cell cell{.index = 0,
                        .writer = table_.rank(shards[i].shard),
                        .first_source = static_cast<std::uint32_t>(plan_.sources.size()),
                        .sources = static_cast<std::uint32_t>(end - i)};
      const std::uint32_t box = shards[i].shard;
      index_t assembled = 0;
      for (; i < end; ++i) {
        const std::uint32_t shard = shards[i].shard;
        const flat_range range = table_.range(shard).value_or(flat_range{});
        if (range.start != assembled) break;
        assembled = range.stop;
        plan_.sources.push_back({table_.rank(shard), table_.position(shard), range});
      }
      if (i < end ||
          (tensor.is_flat && assembled != element_count(dims(table_.local_shape(box))).value_or(0)))
        return error{errc::invalid_argument, where +
                                                 "flat pieces do not follow each other in shard " +
                                                 to_string(table_.global_box(box))};
      const index_t taken = static_cast<index_t>(plan_.cells.size()) - tensor.first_cell;
      const index_t wanted = locate(tensor.grid, box);
      if (wanted > most - taken) return error{errc::invalid_argument, where + "its shards overlap"};
      if (plan_.cells.size() + static_cast<std::size_t>(wanted) > limits_.max_cells)
        return error{errc::resource_limit,
                     where + "more than " + std::to_string(limits_.max_cells) + " cells"};
      for (index_t n = 0; n < wanted; ++n, next()) {
        cell.index = 0;
        for (std::size_t axis = 0; axis < counts_.rank(); ++axis)
          cell.index = cell.index * counts_[axis] + at_[axis];
        plan_.cells.push_back(cell);
      }
    }
    const auto first = plan_.cells.begin() + tensor.first_cell;
    const auto before = [](const planned_cell& a, const planned_cell& b) {
      return a.index < b.index;
    };
    if (!std::is_sorted(first, plan_.cells.end(), before))
      std::sort(first, plan_.cells.end(), before);
    const auto twice = std::adjacent_find(
        first, plan_.cells.end(), [](const auto& a, const auto& b) { return a.index == b.index; });
    if (twice == plan_.cells.end()) return {};
    return error{errc::invalid_argument, where + "processes " + std::to_string(twice->writer) +
                                             " and " + std::to_string((twice + 1)->writer) +
                                             " would write " +
                                             to_string(tensor.grid.cell(twice->index))};
  }

  /// Sets `first_` and `last_` to the cells that a shard covers along each axis, and `at_` to the
  /// first; answers how many they are.
  index_t locate(const write_grid& grid, std::uint32_t shard) {
    index_t count = 1;
    for (std::size_t axis = 0; axis < grid.shape.rank(); ++axis) {
      const index_t from = table_.offset(shard)[axis];
      const index_t to = from + table_.extent(shard, axis) - 1;
      if (grid.edges.empty()) {
        first_[axis] = from / grid.cell_shape[axis];
        last_[axis] = to / grid.cell_shape[axis];
      } else {
        first_[axis] = grid.edges[axis].find(from).index;
        last_[axis] = grid.edges[axis].find(to).index;
      }
      at_[axis] = first_[axis];
      count = saturating_mul(count, last_[axis] - first_[axis] + 1);
    }
    return count;
  }

  void next() {
    for (std::size_t axis = counts_.rank(); axis-- > 0;) {
      if (++at_[axis] <= last_[axis]) return;
      at_[axis] = first_[axis];
    }
  }

  const shard_table& table_;
  plan_limits limits_;
  save_plan plan_;
  axis_cuts cuts_{0};
  dims counts_;
  std::array<index_t, max_rank> first_{};
  std::array<index_t, max_rank> last_{};
  std::array<index_t, max_rank> at_{};
};

ZARRPOINT_INLINE result<save_plan> plan_save(const shard_table& table,
                                             std::span<const std::uint32_t> chosen,
                                             const plan_limits& limits) {
  const detail::key_order keys(table.forms());
  std::vector<std::uint32_t> stored;
  stored.reserve(chosen.size());
  for (const std::uint32_t i : chosen) {
    if (i >= table.size())
      return error{errc::invalid_argument, "the plan names a shard that does not exist"};
    if (!table.is_empty(i)) stored.push_back(i);
  }
  const std::vector<detail::sorted_shard> sorted = detail::sort_shards(table, keys, stored);
  detail::save_planner planner(table, limits);
  std::size_t at = 0;
  for (std::size_t f = 0; f < keys.forms.size(); ++f) {
    const std::uint32_t key = keys.key_of[keys.forms[f]];
    if (f != 0 && keys.key_of[keys.forms[f - 1]] == key) continue;
    const std::size_t begin = at;
    while (at < sorted.size() && sorted[at].key == key) ++at;
    const auto shards = std::span(sorted).subspan(begin, at - begin);
    const shard_form& form =
        shards.empty() ? table.forms()[keys.forms[f]] : table.form(shards.front().shard);
    ZARRPOINT_CHECK(planner.add(form, shards));
  }
  return std::move(planner).take();
}

}}}  // namespace zarrpoint::v0::detail
