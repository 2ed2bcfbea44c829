// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/distributed/plan/check_tiling.hpp>
#include <zarrpoint/distributed/plan/intersect.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>
#include <zarrpoint/distributed/plan/sharding_problems.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE tiling_checker::tiling_checker(const shard_table& table,
                                                sharding_problems& problems)
    : table_(table), problems_(problems) {}

ZARRPOINT_INLINE std::vector<std::uint32_t> tiling_checker::join_ranges(
    const shard_form& form, std::span<const sorted_shard> mains) {
  std::vector<std::uint32_t> out;
  out.reserve(mains.size());
  for (std::size_t begin = 0; begin < mains.size();) {
    const std::uint32_t first = mains[begin].shard;
    std::size_t end = begin + 1;
    while (form.is_flat && end < mains.size() && mains[end].place == mains[begin].place &&
           std::ranges::equal(table_.local_shape(mains[end].shard), table_.local_shape(first)))
      ++end;
    if (form.is_flat) check_ranges(form, mains.subspan(begin, end - begin));
    out.push_back(first);
    begin = end;
  }
  return out;
}

ZARRPOINT_INLINE void tiling_checker::check_regular(const shard_form& form,
                                                    std::span<const std::uint32_t> boxes) {
  const dims fragments(std::span<const index_t>(form.fragmentation));
  const index_t cells = element_count(fragments).value_or(0);
  std::vector<std::string> holes;
  index_t wanted = 0;  // the next cell that should come
  index_t there = 0;
  for (std::size_t i = 0; i < boxes.size();) {
    const index_t cell = cell_of(boxes[i]);
    std::size_t end = i + 1;
    while (end < boxes.size() && cell_of(boxes[end]) == cell) ++end;
    if (end - i > 1) note_copies(form, boxes.subspan(i, end - i));
    for (; wanted < cell && holes.size() < sharding_problems::max_named; ++wanted)
      holes.push_back(to_string(cell_box(form, wanted)));
    wanted = cell + 1;
    ++there;
    i = end;
  }
  for (; wanted < cells && holes.size() < sharding_problems::max_named; ++wanted)
    holes.push_back(to_string(cell_box(form, wanted)));
  note_holes(form, holes, cells - there, cells, "shards");
}

ZARRPOINT_INLINE void tiling_checker::check_irregular(const shard_form& form,
                                                      std::span<const std::uint32_t> boxes) {
  const std::size_t rank = form.rank();
  axis_cuts cuts(rank);
  detail::box_list list(rank);
  list.reserve(boxes.size());
  index_t held = 0;  // elements; of shards that overlap it may be any number
  for (const std::uint32_t shard : boxes) {
    const box one = table_.global_box(shard);
    list.add(one);
    if (__builtin_add_overflow(held, element_count(one.shape).value_or(0), &held)) held = INT64_MAX;
    for (std::size_t axis = 0; axis < rank; ++axis)
      cuts.add(axis, one.offset[axis], one.offset[axis] + one.shape[axis]);
  }
  index_t cells = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    cuts.add(axis, 0, form.global_shape[axis]);
    cells = saturating_mul(cells, static_cast<index_t>(cuts.of(axis).size()) - 1);
  }
  const index_t most = 8 * static_cast<index_t>(boxes.size()) + 4096;
  bool overlaps = true;
  if (cells <= most && count_cells(form, cuts, list, cells, overlaps)) {
    if (overlaps) note_overlaps(form, boxes, list);
    return;
  }
  if (note_overlaps(form, boxes, list)) return;
  const index_t all = element_count(dims(std::span<const index_t>(form.global_shape))).value_or(0);
  if (held < all)
    problems_.add(form.key, [&] {
      return std::to_string(all - held) + " of " + std::to_string(all) +
             " elements are in no shard";
    });
}

ZARRPOINT_INLINE void tiling_checker::check_ranges(const shard_form& form,
                                                   std::span<const sorted_shard> pieces) {
  const std::uint32_t any = pieces.front().shard;
  const index_t volume = element_count(dims(table_.local_shape(any))).value_or(0);
  const auto where = [&] { return " of shard " + to_string(table_.global_box(any)); };
  index_t covered = 0;
  int last = 0;
  const auto miss = [&](index_t stop) {
    problems_.add(form.key, [&] {
      return "elements " + to_string(flat_range{covered, stop}) + where() + " are in no flat range";
    });
  };
  for (const sorted_shard& one : pieces) {
    const flat_range range = table_.range(one.shard).value_or(flat_range{});
    if (range.start > covered) miss(range.start);
    if (range.start < covered)
      problems_.add(form.key, [&] {
        process_list holders;
        holders.add(last);
        holders.add(table_.rank(one.shard));
        return "elements " + to_string(flat_range{range.start, std::min(range.stop, covered)}) +
               where() + " are in two flat ranges, of " + holders.text();
      });
    if (range.stop > covered) last = table_.rank(one.shard);
    covered = std::max(covered, range.stop);
  }
  if (covered < volume) miss(volume);
}

ZARRPOINT_INLINE index_t tiling_checker::cell_of(std::uint32_t shard) const {
  const shard_form& form = table_.form(shard);
  const auto offset = table_.offset(shard);
  index_t cell = 0;
  for (std::size_t axis = 0; axis < form.rank(); ++axis)
    cell = cell * form.fragmentation[axis] + offset[axis] / table_.extent(shard, axis);
  return cell;
}

ZARRPOINT_INLINE box tiling_checker::cell_box(const shard_form& form, index_t cell) {
  box out{dims(form.rank(), 0), dims(form.prepended_axes, 1)};
  for (const index_t n : form.local_shape) out.shape.push_back(n);
  for (std::size_t axis = form.rank(); axis-- > 0;) {
    out.offset[axis] = cell % form.fragmentation[axis] * out.shape[axis];
    cell /= form.fragmentation[axis];
  }
  return out;
}

ZARRPOINT_INLINE void tiling_checker::note_copies(const shard_form& form,
                                                  std::span<const std::uint32_t> copies) {
  problems_.add(form.key, [&] {
    process_list holders;
    for (const std::uint32_t one : copies) holders.add(table_.rank(one));
    return "shard " + to_string(table_.global_box(copies.front())) + " is the main replica " +
           std::to_string(copies.size()) + " times, on " + holders.text();
  });
}

ZARRPOINT_INLINE void tiling_checker::note_holes(const shard_form& form,
                                                 const std::vector<std::string>& holes,
                                                 index_t missing, index_t all,
                                                 std::string_view what) {
  if (missing <= 0) return;
  problems_.add(form.key, [&] {
    return std::to_string(missing) + " of " + std::to_string(all) + " " + std::string(what) +
           " have no main replica: " + list_text(holes, missing);
  });
}

ZARRPOINT_INLINE bool tiling_checker::count_cells(const shard_form& form, axis_cuts& cuts,
                                                  const detail::box_list& list, index_t cells,
                                                  bool& overlaps) {
  const std::size_t rank = form.rank();
  std::vector<std::uint8_t> counts(static_cast<std::size_t>(cells), 0);
  index_t budget = 16 * cells + 4096;
  overlaps = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    dims first;
    dims end;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const std::vector<index_t>& places = cuts.of(axis);
      const auto number = [&](index_t at) {
        return std::lower_bound(places.begin(), places.end(), at) - places.begin();
      };
      first.push_back(number(list.begin(i, axis)));
      end.push_back(number(list.end(i, axis)));
    }
    for (dims at = first;;) {
      if (budget-- == 0) return false;
      std::size_t cell = 0;
      for (std::size_t axis = 0; axis < rank; ++axis)
        cell = cell * (cuts.of(axis).size() - 1) + static_cast<std::size_t>(at[axis]);
      overlaps = overlaps || counts[cell] != 0;
      counts[cell] = 1;
      std::size_t axis = rank;
      while (axis-- > 0) {
        if (++at[axis] < end[axis]) break;
        at[axis] = first[axis];
      }
      if (axis == SIZE_MAX) break;
    }
  }
  std::vector<std::string> holes;
  index_t missing = 0;
  for (std::size_t cell = 0; cell < counts.size(); ++cell) {
    if (counts[cell] != 0) continue;
    ++missing;
    if (holes.size() == sharding_problems::max_named) continue;
    box hole{dims(rank, 0), dims(rank, 0)};
    for (std::size_t axis = rank, rest = cell; axis-- > 0;) {
      const std::vector<index_t>& places = cuts.of(axis);
      const std::size_t at = rest % (places.size() - 1);
      rest /= places.size() - 1;
      hole.offset[axis] = places[at];
      hole.shape[axis] = places[at + 1] - places[at];
    }
    holes.push_back(to_string(hole));
  }
  note_holes(form, holes, missing, cells, "parts between the boundaries of shards");
  return true;
}

ZARRPOINT_INLINE bool tiling_checker::note_overlaps(const shard_form& form,
                                                    std::span<const std::uint32_t> boxes,
                                                    const detail::box_list& list) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  detail::for_each_overlap(list, list, [&](std::uint32_t a, std::uint32_t b) {
    if (a != b) pairs.insert(std::minmax(a, b));
    return pairs.size() < sharding_problems::max_named;
  });
  for (const auto& pair : pairs)
    problems_.add(form.key, [&] {
      const auto side = [&](std::uint32_t i) {
        return to_string(list.at(i)) + " on process " + std::to_string(table_.rank(boxes[i]));
      };
      return "shards overlap: " + side(pair.first) + " and " + side(pair.second);
    });
  return !pairs.empty();
}

}}}  // namespace zarrpoint::v0::detail
