// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/grid/piece_grid.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/distributed/plan/intersect.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>
#include <zarrpoint/distributed/plan/share_regions.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

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
    for (std::size_t i = 0; i < cells; ++i) {
      box& cell = out.emplace_back(all);
      std::size_t rest = i;
      for (std::size_t axis = unit_.rank(); axis-- > 0;) {
        const std::vector<index_t>& of = cuts.of(axis);
        const std::size_t k = rest % (of.size() - 1);
        rest /= of.size() - 1;
        cell.offset[axis] = of[k];
        cell.shape[axis] = of[k + 1] - of[k];
      }
    }
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

}}}  // namespace zarrpoint::v0::detail
