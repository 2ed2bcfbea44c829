// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/grid/piece_grid.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/distributed/plan/intersect.hpp>
#include <zarrpoint/distributed/plan/save_plan.hpp>
#include <zarrpoint/distributed/plan/share_regions.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <array>
#include <compare>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// ----------------------------------------------------------------------------------- save_plan.hpp

/// Spreads shards over the processes that hold them.
class shard_distributor {
 public:
  shard_distributor(const shard_table& table, const distribution& how)
      : table_(table), how_(how), keys_(table.forms()) {}

  result<std::vector<std::uint32_t>> run() {
    int ranks = 0;
    for (std::size_t i = 0; i < table_.size(); ++i) ranks = std::max(ranks, table_.rank(i) + 1);
    if (!how_.group_of.empty() && how_.group_of.size() < static_cast<std::size_t>(ranks))
      return error{errc::invalid_argument,
                   "the groups are given for " + std::to_string(how_.group_of.size()) +
                       " processes, but process " + std::to_string(ranks - 1) + " exists"};
    loads_.assign(static_cast<std::size_t>(ranks), 0);
    find_shards();
    std::sort(shards_.begin(), shards_.end(), [](const one_shard& a, const one_shard& b) {
      return std::tie(a.group, a.is_foreign, a.holders, b.bytes, a.first) <
             std::tie(b.group, b.is_foreign, b.holders, a.bytes, b.first);
    });
    std::vector<std::pair<std::uint32_t, std::uint32_t>> chosen;  // by identity, then the holder
    chosen.reserve(shards_.size());
    for (const one_shard& shard : shards_) chosen.emplace_back(shard.first, assign(shard));
    std::sort(chosen.begin(), chosen.end());
    std::vector<std::uint32_t> out;
    out.reserve(chosen.size());
    for (const auto& [identity, holder] : chosen) out.push_back(holder);
    return out;
  }

 private:
  struct one_shard {
    int group = 0;
    bool is_foreign = false;
    std::uint32_t holders = 0;
    index_t bytes = 0;
    std::uint32_t first = 0;  // of its entries in `entries_`
    std::uint32_t count = 0;
  };

  int group(std::size_t i) const {
    return how_.group_of.empty() ? 0 : how_.group_of[static_cast<std::size_t>(table_.rank(i))];
  }

  /// What tells shards apart: the key, the offset, the flat range; and the shape, since an empty
  /// shard may be at the offset of another.
  std::strong_ordering compare(const sorted_shard& a, const sorted_shard& b) const {
    if (const auto order =
            std::tie(a.key, a.first_element, a.start) <=> std::tie(b.key, b.first_element, b.start);
        std::is_neq(order))
      return order;
    const auto x = table_.range(a.shard);
    const auto y = table_.range(b.shard);
    if (const auto order = (x ? x->stop : -1) <=> (y ? y->stop : -1); std::is_neq(order))
      return order;
    const auto list = [](std::span<const index_t> p, std::span<const index_t> q) {
      // libc++ 16 has no std::lexicographical_compare_three_way.
      const auto [x, y] = std::mismatch(p.begin(), p.end(), q.begin(), q.end());
      return x != p.end() && y != q.end() ? *x <=> *y : p.size() <=> q.size();
    };
    // An empty shard at the end of an axis has the place of the next row's first element.
    if (const auto order = list(table_.offset(a.shard), table_.offset(b.shard)); std::is_neq(order))
      return order;
    return list(table_.local_shape(a.shard), table_.local_shape(b.shard));
  }

  /// Sorts all entries so that those of one shard in one group follow each other by process.
  void find_shards() {
    entries_.reserve(table_.size());
    for (std::uint32_t i = 0; i < table_.size(); ++i) {
      const auto range = table_.range(i);
      entries_.push_back({keys_.key_of[table_.form_number(i)], i,
                          first_element(table_.offset(i), table_.form(i)),
                          range ? range->start : 0});
    }
    std::sort(entries_.begin(), entries_.end(), [&](const sorted_shard& a, const sorted_shard& b) {
      if (const int x = group(a.shard), y = group(b.shard); x != y) return x < y;
      if (const auto order = compare(a, b); std::is_neq(order)) return std::is_lt(order);
      const int x = table_.rank(a.shard);
      const int y = table_.rank(b.shard);
      return x != y ? x < y : a.shard < b.shard;
    });
    for (std::size_t begin = 0; begin < entries_.size();) {
      const std::uint32_t any = entries_[begin].shard;
      one_shard shard{.group = group(any),
                      .is_foreign = true,
                      .bytes = bytes_of(any),
                      .first = static_cast<std::uint32_t>(begin)};
      int last = -1;
      std::size_t end = begin;
      for (; end < entries_.size() && group(entries_[end].shard) == shard.group &&
             std::is_eq(compare(entries_[begin], entries_[end]));
           ++end) {
        const std::uint32_t i = entries_[end].shard;
        if (std::exchange(last, table_.rank(i)) != table_.rank(i)) ++shard.holders;
        if (table_.is_main(i)) shard.is_foreign = false;
      }
      shard.count = static_cast<std::uint32_t>(end - begin);
      begin = end;
      if (!shard.is_foreign || how_.from_other_groups) shards_.push_back(shard);
    }
  }

  index_t bytes_of(std::uint32_t shard) const {
    index_t bytes = static_cast<index_t>(std::max<std::size_t>(table_.form(shard).type.size(), 1));
    if (table_.is_empty(shard)) return 0;
    if (const auto range = table_.range(shard)) {
      index_t size = 0;  // nobody may have looked whether the range is one
      if (__builtin_sub_overflow(range->stop, range->start, &size)) size = INT64_MAX;
      return saturating_mul(bytes, size);
    }
    for (const index_t n : table_.local_shape(shard)) bytes = saturating_mul(bytes, n);
    return bytes;
  }

  /// The entry of the holder that has the least to do, the first of those.
  std::uint32_t assign(const one_shard& shard) {
    const auto load = [&](std::uint32_t i) -> index_t& {
      return loads_[static_cast<std::size_t>(table_.rank(i))];
    };
    std::uint32_t best = entries_[shard.first].shard;
    for (std::uint32_t n = 1; n < shard.count; ++n) {
      const std::uint32_t other = entries_[shard.first + n].shard;
      if (load(other) < load(best)) best = other;
    }
    if (__builtin_add_overflow(load(best), shard.bytes, &load(best))) load(best) = INT64_MAX;
    return best;
  }

  const shard_table& table_;
  const distribution& how_;
  key_order keys_;
  std::vector<sorted_shard> entries_;
  std::vector<one_shard> shards_;
  std::vector<index_t> loads_;
};

ZARRPOINT_INLINE result<std::vector<std::uint32_t>> distribute(const shard_table& shards,
                                                               const distribution& how) {
  return detail::shard_distributor(shards, how).run();
}

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
    while (end < shards.size() && shards[end].first_element == shards[first].first_element &&
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

}  // namespace detail

ZARRPOINT_INLINE index_t write_grid::cells_along(std::size_t axis) const {
  return edges.empty() ? ceil_div(shape[axis], cell_shape[axis]) : edges[axis].count();
}

ZARRPOINT_INLINE result<index_t> write_grid::cells() const {
  dims counts;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) counts.push_back(cells_along(axis));
  return element_count(counts);
}

ZARRPOINT_INLINE dims write_grid::place(index_t index) const {
  dims out(shape.rank(), 0);
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    const index_t count = cells_along(axis);
    out[axis] = index % count;
    index /= count;
  }
  return out;
}

ZARRPOINT_INLINE box write_grid::cell(index_t index) const {
  box out{place(index), dims(shape.rank(), 0)};
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    const index_t at = out.offset[axis];
    const auto one = edges.empty() ? axis_edges::chunk{at, at * cell_shape[axis], cell_shape[axis]}
                                   : edges[axis].at(at);
    out.offset[axis] = one.start;
    out.shape[axis] = std::min(one.extent, shape[axis] - one.start);
  }
  return out;
}

ZARRPOINT_INLINE result<void> write_grid::check() const {
  if (cell_shape.rank() != shape.rank() || (!edges.empty() && edges.size() != shape.rank()))
    return error{errc::corrupt, "a grid's cells " + to_string(cell_shape) +
                                    " must have the same rank as shape " + to_string(shape)};
  ZARRPOINT_CHECK(element_count(shape));
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (cell_shape[axis] < 1)
      return error{errc::corrupt,
                   "cells of shape " + to_string(cell_shape) + " must have extents of 1 or more"};
    if (edges.empty()) continue;
    ZARRPOINT_CHECK(edges[axis].check(shape[axis]));
    if (edges[axis].repeats() || edges[axis].end() != shape[axis])
      return error{errc::corrupt, "the cells do not cover the tensor exactly"};
  }
  return cells().transform([](index_t) {});
}

namespace detail {

ZARRPOINT_INLINE void split_pieces(save_plan& plan) {
  std::vector<planned_cell> cells;
  cells.reserve(plan.cells.size());
  for (planned_tensor& tensor : plan.tensors) {
    const auto first = static_cast<std::uint32_t>(cells.size());
    for (const planned_cell& cell : plan.cells_of(tensor)) {
      const auto sources = plan.sources_of(cell);
      // Of a shard that is several cells the pieces have elements of each.
      const bool is_shard = tensor.is_flat && !sources.empty() &&
                            element_count(tensor.grid.cell(cell.index).shape).value_or(-1) ==
                                sources.back().range.stop;
      if (!is_shard) {
        cells.push_back(cell);
        continue;
      }
      std::uint32_t at = cell.first_source;
      for (const cell_source& one : sources) cells.push_back({cell.index, one.rank, at++, 1});
    }
    tensor.first_cell = first;
    tensor.cells = static_cast<std::uint32_t>(cells.size()) - first;
  }
  plan.cells = std::move(cells);
}

ZARRPOINT_INLINE result<void> join_cells(save_plan& plan) {
  std::vector<planned_cell> joined;
  std::vector<cell_source> sources;
  std::map<int, std::uint64_t> given;
  for (planned_tensor& tensor : plan.tensors) {
    const auto cells = plan.cells_of(tensor);
    if (tensor.is_flat && cells.size() > 1)
      return error{
          errc::unsupported,
          "\"" + tensor.key +
              "\" lies in flat pieces of several shards, of which no whole tensor is made; "
              "choose a format that stores shards"};
    const auto first = static_cast<std::uint32_t>(sources.size());
    std::set<std::pair<int, std::uint32_t>> taken;  // a shard of an irregular grid is several cells
    for (const planned_cell& cell : cells) {
      for (const cell_source& one : plan.sources_of(cell))
        if (tensor.is_flat || taken.emplace(one.rank, one.shard).second) sources.push_back(one);
    }
    tensor.first_cell = static_cast<std::uint32_t>(joined.size());
    tensor.cells = cells.empty() ? 0 : 1;
    ZARRPOINT_TRY(elements, element_count(tensor.grid.shape));
    if (cells.empty() && elements != 0)
      return error{errc::invalid_argument,
                   "\"" + tensor.key + "\" has no main replica of any shard, so nobody stores it"};
    if (cells.empty()) continue;
    tensor.grid = {tensor.grid.shape, tensor.grid.shape, {}};
    ZARRPOINT_TRY(bytes, byte_count(tensor.grid.shape, memory_size(tensor.type)));
    int writer = sources[first].rank;
    // Flat pieces go to the process of the first.
    for (std::size_t i = first; i < sources.size() && !tensor.is_flat; ++i) {
      const int rank = sources[i].rank;
      if (std::pair(given[rank], rank) < std::pair(given[writer], writer)) writer = rank;
    }
    given[writer] += bytes;
    joined.push_back({0, writer, first, static_cast<std::uint32_t>(sources.size()) - first});
  }
  plan.cells = std::move(joined);
  plan.sources = std::move(sources);
  return {};
}

ZARRPOINT_INLINE result<std::vector<save_plan>> split_plan(const save_plan& plan, int ranks) {
  std::vector<save_plan> out(static_cast<std::size_t>(std::max(ranks, 0)));
  std::vector<std::size_t> seen(out.size(), SIZE_MAX);  // the last cell that a process was given
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    const planned_tensor& tensor = plan.tensors[t];
    for (std::uint32_t c = 0; c < tensor.cells; ++c) {
      const std::size_t number = tensor.first_cell + c;
      const planned_cell& cell = plan.cells[number];
      const auto sources = plan.sources_of(cell);
      const auto give = [&](int rank, std::span<const cell_source> parts) -> result<void> {
        if (rank < 0 || rank >= ranks)
          return error{errc::invalid_argument, "the plan names process " + std::to_string(rank) +
                                                   "; there are " + std::to_string(ranks) +
                                                   " processes"};
        save_plan& part = out[static_cast<std::size_t>(rank)];
        if (part.tensors.empty() || part.tensors.back().key != tensor.key) {
          part.tensors.push_back(tensor);
          part.tensors.back().first_cell = static_cast<std::uint32_t>(part.cells.size());
          part.tensors.back().cells = 0;
        }
        if (std::exchange(seen[static_cast<std::size_t>(rank)], number) != number) {
          ++part.tensors.back().cells;
          part.cells.push_back(
              {cell.index, cell.writer, static_cast<std::uint32_t>(part.sources.size()), 0});
        }
        part.cells.back().sources += static_cast<std::uint32_t>(parts.size());
        part.sources.insert(part.sources.end(), parts.begin(), parts.end());
        return {};
      };
      ZARRPOINT_CHECK(give(cell.writer, sources));
      for (const cell_source& one : sources) {
        if (one.rank != cell.writer) ZARRPOINT_CHECK(give(one.rank, {&one, 1}));
      }
    }
  }
  return out;
}

ZARRPOINT_INLINE void write_tensor(wire_writer& to, const planned_tensor& tensor) {
  to.text(tensor.key);
  to.type(tensor.type);
  to.shape(tensor.grid.shape);
  to.indexes(tensor.grid.cell_shape);
  to.flag(!tensor.grid.edges.empty());
  for (const axis_edges& axis : tensor.grid.edges) {
    to.number(axis.runs().size());
    for (const chunk_run& run : axis.runs()) {
      to.index(run.extent);
      to.index(run.count);
    }
  }
  to.number(tensor.prepended_axes);
  to.flag(tensor.is_flat);
  to.number(tensor.cells);
}

ZARRPOINT_INLINE planned_tensor read_tensor(wire_reader& from) {
  planned_tensor out;
  out.key = from.text();
  out.type = from.type();
  out.grid.shape = from.shape();
  const std::size_t rank = out.grid.shape.rank();
  out.grid.cell_shape = from.indexes(rank);
  if (from.flag()) {
    for (std::size_t axis = 0; axis < rank; ++axis) {
      std::vector<chunk_run> runs;
      for (std::size_t n = from.count(2); n > 0; --n) {
        chunk_run run;
        run.extent = from.index();
        run.count = from.index();
        runs.push_back(run);
      }
      out.grid.edges.emplace_back(std::move(runs));
    }
  }
  out.prepended_axes = static_cast<std::size_t>(from.limited(rank));
  out.is_flat = from.flag();
  out.cells = static_cast<std::uint32_t>(std::min<std::size_t>(from.count(3), UINT32_MAX));
  return out;
}

ZARRPOINT_INLINE std::vector<std::byte> encode_plan(const save_plan& plan) {
  wire_writer to;
  to.number(detail::wire_version);
  to.number(plan.tensors.size());
  for (const planned_tensor& tensor : plan.tensors) {
    detail::write_tensor(to, tensor);
    index_t last = 0;
    for (const planned_cell& cell : plan.cells_of(tensor)) {
      to.number(static_cast<std::uint64_t>(cell.index - last));
      last = cell.index;
      to.number(static_cast<std::uint64_t>(cell.writer));
      to.number(cell.sources);
      for (const cell_source& one : plan.sources_of(cell)) {
        // Most often the writer is the source.
        to.index(one.rank - cell.writer);
        to.number(one.shard);
        if (!tensor.is_flat) continue;
        to.index(one.range.start);
        to.index(one.range.stop);
      }
    }
  }
  return std::move(to).take();
}

ZARRPOINT_INLINE result<save_plan> decode_plan(bytes_view message) {
  wire_reader from(message);
  save_plan out;
  const std::uint64_t version = from.number();
  if (!from.failed() && version != detail::wire_version)
    return error{errc::unsupported, "the plan has the unknown version " + std::to_string(version)};
  for (std::size_t n = from.count(8); n > 0 && !from.failed(); --n) {
    planned_tensor tensor = detail::read_tensor(from);
    if (from.failed()) break;
    const std::string where = "plan of \"" + tensor.key + "\"";
    ZARRPOINT_CHECK(tensor.grid.check().at(where));
    ZARRPOINT_TRY(cells, tensor.grid.cells());
    tensor.first_cell = static_cast<std::uint32_t>(out.cells.size());
    index_t last = 0;
    for (std::uint32_t c = 0; c < tensor.cells && !from.failed(); ++c) {
      planned_cell cell;
      const std::uint64_t index =
          static_cast<std::uint64_t>(last) + from.limited(static_cast<std::uint64_t>(cells));
      if (index >= static_cast<std::uint64_t>(cells))
        return error{errc::corrupt, where + ": it names a cell that does not exist"};
      cell.index = static_cast<index_t>(index);
      const bool is_again = c != 0 && cell.index == last;
      last = cell.index;
      cell.writer = static_cast<std::int32_t>(from.limited(INT32_MAX));
      cell.first_source = static_cast<std::uint32_t>(out.sources.size());
      cell.sources = static_cast<std::uint32_t>(from.count(2));
      for (std::uint32_t s = 0; s < cell.sources && !from.failed(); ++s) {
        cell_source one;
        index_t rank = 0;
        if (__builtin_add_overflow(from.index(), index_t{cell.writer}, &rank) || rank < 0 ||
            rank > INT32_MAX)
          from.fail();
        one.rank = static_cast<int>(rank);
        one.shard = static_cast<std::uint32_t>(from.limited(UINT32_MAX));
        if (tensor.is_flat) {
          one.range.start = from.index();
          one.range.stop = from.index();
        }
        out.sources.push_back(one);
      }
      if (is_again && !from.failed()) {
        // Pieces, in their order: of each process its own.
        const planned_cell& before = out.cells.back();
        if (!tensor.is_flat || before.sources != 1 || cell.sources != 1 ||
            out.sources[cell.first_source].range.start <
                out.sources[before.first_source].range.stop)
          return error{errc::corrupt, where + ": it names a cell twice"};
      }
      out.cells.push_back(cell);
    }
    out.tensors.push_back(std::move(tensor));
  }
  ZARRPOINT_CHECK(from.finish());
  return out;
}

// ------------------------------------------------------------------------------- share_regions.hpp

/// What two boxes have in common; empty where they do not meet.
ZARRPOINT_INLINE box common_part(const box& a, const box& b) {
  box out;
  for (std::size_t axis = 0; axis < a.rank(); ++axis) {
    const index_t from = std::max(a.offset[axis], b.offset[axis]);
    const index_t to = std::min(a.offset[axis] + a.shape[axis], b.offset[axis] + b.shape[axis]);
    out.offset.push_back(from);
    out.shape.push_back(std::max<index_t>(to - from, 0));
  }
  return out;
}

/// Makes `to` the smallest box that holds both.
ZARRPOINT_INLINE void widen(box& to, const box& by) {
  for (std::size_t axis = 0; axis < to.rank(); ++axis) {
    const index_t end =
        std::max(to.offset[axis] + to.shape[axis], by.offset[axis] + by.shape[axis]);
    to.offset[axis] = std::min(to.offset[axis], by.offset[axis]);
    to.shape[axis] = end - to.offset[axis];
  }
}

ZARRPOINT_INLINE box shared_regions::wanted(const shard_table& requests, std::size_t entry) const {
  return common_part(table.global_box(entry), requests.global_box(request_of[entry]));
}

class region_cutter {
 public:
  region_cutter(const shard_table& requests, const region_options& how)
      : requests_(requests), how_(how), is_cut_(requests.size(), false) {}

  result<shared_regions> run() {
    // They come first, so that a form has the same number in both tables.
    for (const shard_form& form : requests_.forms()) out_.table.intern(form);
    for (const auto& [tensor, asking] : by_tensor()) {
      if (asking.size() > 1 && out_.table.size() < most_parts) ZARRPOINT_CHECK(cut_tensor(asking));
    }
    out_.first_whole = out_.table.size();
    for (std::uint32_t i = 0; i < requests_.size(); ++i) {
      if (is_cut_[i]) continue;
      ZARRPOINT_CHECK(
          out_.table.append(requests_.rank(i), requests_.form_number(i), requests_.numbers(i)));
      out_.request_of.push_back(i);
    }
    return std::move(out_);
  }

 private:
  using numbers = std::vector<std::uint32_t>;

  // With so many parts of requests, which take some 200 MB on each process, no tensor is cut.
  static constexpr std::size_t most_parts = std::size_t{1} << 20;

  /// A box, and all requests for it.
  struct asked_box {
    box at;
    box of_units;  ///< all units that it meets
    numbers requests;
  };

  struct region {
    box at;
    numbers boxes;
  };

  /// The requests that may be cut, by tensor, type and group.
  std::map<std::pair<std::size_t, int>, numbers> by_tensor() const {
    std::map<std::string, std::size_t> tensors;
    std::vector<std::optional<std::size_t>> tensor_of;
    for (std::size_t i = 0; i < requests_.forms().size(); ++i) {
      const shard_form& form = requests_.forms()[i];
      const dims unit = i < how_.units.size() ? how_.units[i] : dims();
      const bool has_units = unit.rank() == form.rank() && unit.rank() > 0 &&
                             std::all_of(unit.begin(), unit.end(), [](index_t n) { return n > 0; });
      tensor_of.emplace_back();
      if (!has_units || form.is_flat || form.type.is_variable()) continue;
      wire_writer id;
      id.text(form.key);
      id.type(form.type);
      id.shape(dims(std::span<const index_t>(form.global_shape)));
      const std::vector<std::byte> text = std::move(id).take();
      tensor_of.back() = tensors.emplace(as_text(text), tensors.size()).first->second;
    }
    std::map<std::pair<std::size_t, int>, numbers> out;
    for (std::uint32_t i = 0; i < requests_.size(); ++i) {
      const auto tensor = tensor_of[requests_.form_number(i)];
      if (!tensor || requests_.is_empty(i) || !requests_.metadata(i).check()) continue;
      const auto rank = static_cast<std::size_t>(requests_.rank(i));
      out[{*tensor, how_.group_of.empty() ? 0 : how_.group_of[rank]}].push_back(i);
    }
    return out;
  }

  result<void> cut_tensor(const numbers& asking) {
    unit_ = how_.units[requests_.form_number(asking.front())];
    form_ = &requests_.form(asking.front());
    asked_.clear();
    std::map<std::vector<index_t>, std::size_t> known;
    for (const std::uint32_t i : asking) {
      const box at = requests_.global_box(i);
      const auto [entry, is_new] = known.emplace(corners_of(at), asked_.size());
      if (is_new) asked_.push_back({at, units_of(at), {}});
      asked_[entry->second].requests.push_back(i);
    }
    if (asked_.size() < 2) return {};
    for (const numbers& together : connected()) {
      if (together.size() < 2) continue;
      if (const auto regions = regions_of(together)) ZARRPOINT_CHECK(add(*regions));
    }
    return {};
  }

  static std::vector<index_t> corners_of(const box& at) {
    std::vector<index_t> out(at.offset.begin(), at.offset.end());
    out.insert(out.end(), at.shape.begin(), at.shape.end());
    return out;
  }

  box units_of(const box& at) const {
    box out = at;
    for (std::size_t axis = 0; axis < at.rank(); ++axis) {
      const index_t from = at.offset[axis] / unit_[axis] * unit_[axis];
      const index_t last = (at.offset[axis] + at.shape[axis] - 1) / unit_[axis] * unit_[axis];
      // The last unit may end beyond the tensor, and even beyond what can be counted.
      const index_t end = std::min(unit_[axis], form_->global_shape[axis] - last) + last;
      out.offset[axis] = from;
      out.shape[axis] = end - from;
    }
    return out;
  }

  /// The boxes that meet the same units, one by one or by others between them.
  std::vector<numbers> connected() const {
    // Boxes that meet just the same units are alike.
    std::map<std::vector<index_t>, std::uint32_t> known;
    std::vector<std::uint32_t> alike;
    box_list all(unit_.rank());
    for (const asked_box& one : asked_) {
      const auto next = static_cast<std::uint32_t>(known.size());
      const auto [entry, is_new] = known.emplace(corners_of(one.of_units), next);
      if (is_new) all.add(one.of_units);
      alike.push_back(entry->second);
    }
    numbers parent(all.size());
    std::iota(parent.begin(), parent.end(), 0U);
    const auto root = [&](std::uint32_t i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    for_each_overlap(all, all, [&](std::uint32_t a, std::uint32_t b) {
      const std::uint32_t x = root(a);
      const std::uint32_t y = root(b);
      parent[std::max(x, y)] = std::min(x, y);
      return true;
    });
    std::map<std::uint32_t, numbers> sets;
    for (std::uint32_t i = 0; i < asked_.size(); ++i) sets[root(alike[i])].push_back(i);
    std::vector<numbers> out;
    out.reserve(sets.size());
    for (auto& [first, set] : sets) out.push_back(std::move(set));
    return out;
  }

  /// The cells between all places where the units of a box begin or end; one cell where they would
  /// be too many.
  std::vector<box> cells_of(const numbers& boxes) const {
    axis_cuts cuts(unit_.rank());
    box all = asked_[boxes.front()].of_units;
    for (const std::uint32_t i : boxes) {
      const box& at = asked_[i].of_units;
      widen(all, at);
      for (std::size_t axis = 0; axis < at.rank(); ++axis)
        cuts.add(axis, at.offset[axis], at.offset[axis] + at.shape[axis]);
    }
    std::size_t cells = 1;
    for (std::size_t axis = 0; axis < unit_.rank(); ++axis) {
      const std::size_t along = cuts.of(axis).size() - 1;
      if (cells > (1024 + 16 * boxes.size()) / along) return {all};
      cells *= along;
    }
    std::vector<box> out;
    for (std::size_t i = 0; i < cells; ++i) out.push_back(cuts.cell(i));
    return out;
  }

  /// Nothing where one of them would be too large.
  std::optional<std::vector<region>> regions_of(const numbers& boxes) const {
    const std::size_t element = std::max<std::size_t>(memory_size(form_->type), 1);
    const std::vector<box> cells = cells_of(boxes);
    box_list asked(unit_.rank());
    for (const std::uint32_t i : boxes) asked.add(asked_[i].at);
    std::vector<numbers> met(cells.size());
    for_each_overlap(box_list(unit_.rank(), cells), asked, [&](std::uint32_t c, std::uint32_t a) {
      met[c].push_back(boxes[a]);
      return true;
    });
    std::vector<region> out;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (met[c].empty()) continue;
      std::sort(met[c].begin(), met[c].end());
      const auto bytes = byte_count(cells[c].shape, element);
      if (!bytes) return std::nullopt;
      // What only one box has is read to its place, whatever its size. More boxes have larger
      // regions, since all processes plan all parts.
      const std::uint64_t least = (*bytes >> 16) * met[c].size();
      const std::uint64_t size = met[c].size() == 1 ? UINT64_MAX : std::max(how_.bytes, least);
      const piece_grid pieces = piece_grid::make(cells[c], unit_, element, size);
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        box piece = pieces.at(i);
        for (std::size_t axis = 0; axis < piece.rank(); ++axis)
          piece.offset[axis] += cells[c].offset[axis];
        region one = region_of(piece, met[c]);
        if (one.boxes.empty()) continue;
        if (is_too_large(one, element)) return std::nullopt;
        out.push_back(std::move(one));
      }
    }
    return out;
  }

  /// What boxes want of a piece.
  region region_of(const box& piece, const numbers& boxes) const {
    region out;
    for (const std::uint32_t i : boxes) {
      const box part = common_part(piece, asked_[i].at);
      if (part.empty()) continue;
      if (out.boxes.empty()) out.at = part;
      widen(out.at, part);
      out.boxes.push_back(i);
    }
    return out;
  }

  bool is_too_large(const region& one, std::size_t element) const {
    const std::uint64_t whole = byte_count(one.at.shape, element).value_or(SIZE_MAX);
    std::uint64_t bytes = whole;
    std::size_t holders = 0;
    for (const std::uint32_t i : one.boxes) {
      const box part = common_part(one.at, asked_[i].at);
      const std::uint64_t size = byte_count(part.shape, element).value_or(SIZE_MAX);
      for (std::size_t n = asked_[i].requests.size(); n > 0; --n, ++holders) {
        if (__builtin_add_overflow(bytes, size, &bytes)) return true;
      }
    }
    return holders > 1 && bytes > how_.most;
  }

  result<void> add(const std::vector<region>& regions) {
    for (const region& one : regions) {
      for (const std::uint32_t i : one.boxes) {
        for (const std::uint32_t request : asked_[i].requests)
          ZARRPOINT_CHECK(add(one.at, request));
      }
    }
    return {};
  }

  result<void> add(const box& region, std::uint32_t request) {
    const auto replica = requests_.replica(request);
    shard_form form = requests_.form(request);
    form.fragmentation.clear();
    form.local_shape.clear();
    form.prepended_axes = 0;
    form.is_regular = false;
    std::vector<index_t> own = corners_of(region);
    own.insert(own.end(), replica.begin(), replica.end());
    is_cut_[request] = true;
    out_.request_of.push_back(request);
    return out_.table.append(requests_.rank(request), out_.table.intern(std::move(form)), own);
  }

  const shard_table& requests_;
  const region_options& how_;
  std::vector<bool> is_cut_;
  shared_regions out_;
  // Of the tensor that is cut.
  dims unit_;
  const shard_form* form_ = nullptr;
  std::vector<asked_box> asked_;
};

ZARRPOINT_INLINE result<shared_regions> share_regions(const shard_table& requests,
                                                      const region_options& how) {
  return region_cutter(requests, how).run();
}

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/plan/table_bodies.hpp>
#include <zarrpoint/zarr/metadata_bodies.hpp>
#endif
