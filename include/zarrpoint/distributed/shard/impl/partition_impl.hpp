// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/distributed/communicate/rank_mesh.hpp>
#include <zarrpoint/distributed/shard/partition.hpp>
#include <zarrpoint/distributed/shard/rank_offsets.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE std::string to_string(const partition_spec& spec) {
  std::string out = "(";
  for (std::size_t axis = 0; axis < spec.axes.size(); ++axis) {
    if (axis > 0) out += ", ";
    for (std::size_t i = 0; i < spec.axes[axis].size(); ++i)
      out += (i > 0 ? "*" : "") + spec.axes[axis][i];
    if (spec.axes[axis].empty()) out += "-";
  }
  return out + ")";
}

namespace detail {

ZARRPOINT_INLINE error bad_partition(const partition_spec& spec, const std::string& what) {
  return {errc::invalid_argument, "partition " + to_string(spec) + ": " + what};
}

/// Each name of the spec is an axis of the mesh, once.
ZARRPOINT_INLINE result<void> check_spec(const rank_mesh& mesh, const partition_spec& spec) {
  const std::span<const rank_mesh::axis> axes = mesh.axes();
  std::vector<bool> seen(axes.size(), false);
  for (const std::vector<std::string>& names : spec.axes) {
    for (const std::string& name : names) {
      const auto found = std::find_if(axes.begin(), axes.end(),
                                      [&](const rank_mesh::axis& one) { return one.name == name; });
      if (found == axes.end()) return bad_partition(spec, "the mesh has no axis \"" + name + "\"");
      const auto at = static_cast<std::size_t>(found - axes.begin());
      if (seen[at]) return bad_partition(spec, "axis \"" + name + "\" is named twice");
      seen[at] = true;
    }
  }
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE partition::partition(rank_mesh mesh, partition_spec spec, uneven_parts rule)
    : mesh_(std::move(mesh)), spec_(std::move(spec)), rule_(rule), divided_(spec_.axes.size()) {
  std::vector<bool> named(mesh_.axes().size(), false);
  for (std::size_t axis = 0; axis < spec_.axes.size(); ++axis) {
    for (const std::string& name : spec_.axes[axis]) {
      step at;
      for (std::size_t i = 0; i < mesh_.axes().size(); ++i) {
        at.extent = mesh_.axes()[i].extent;
        named[i] = named[i] || mesh_.axes()[i].name == name;
        if (mesh_.axes()[i].name == name) break;
        at.stride *= at.extent;
      }
      divided_[axis].push_back(at);
    }
  }
  int stride = 1;
  for (std::size_t i = 0; i < mesh_.axes().size(); ++i) {
    if (!named[i]) copied_.push_back({stride, mesh_.axes()[i].extent});
    stride *= mesh_.axes()[i].extent;
  }
}

ZARRPOINT_INLINE result<partition> partition::make(rank_mesh mesh, partition_spec spec,
                                                   uneven_parts rule) {
  ZARRPOINT_CHECK(detail::check_spec(mesh, spec));
  return partition(std::move(mesh), std::move(spec), rule);
}

ZARRPOINT_INLINE result<void> partition::check_rank(int rank) const {
  if (rank >= 0 && rank < mesh_.size()) return {};
  return error{errc::out_of_range,
               detail::bad_partition(spec_, "rank " + std::to_string(rank) +
                                                " is not in the mesh, which has " +
                                                std::to_string(mesh_.size()) + " ranks")
                   .message};
}

ZARRPOINT_INLINE index_t partition::parts_of(std::size_t axis) const {
  index_t out = 1;
  if (axis < divided_.size()) {
    for (const step& by : divided_[axis]) out *= by.extent;
  }
  return out;
}

ZARRPOINT_INLINE result<void> partition::check_shape(const dims& global_shape) const {
  if (spec_.axes.size() > global_shape.rank())
    return detail::bad_partition(
        spec_, "it has more axes than the tensor of shape " + to_string(global_shape));
  for (std::size_t axis = 0; axis < global_shape.rank(); ++axis) {
    const auto refused = [&](const std::string& what) {
      return detail::bad_partition(
          spec_, "axis " + std::to_string(axis) + " of shape " + to_string(global_shape) + what);
    };
    if (global_shape[axis] < 0) return refused(" is negative");
    if (rule_ == uneven_parts::refuse && global_shape[axis] % parts_of(axis) != 0)
      return refused(" cannot be divided into " + std::to_string(parts_of(axis)) +
                     " equal parts; uneven_parts::ceil allows others");
  }
  return {};
}

ZARRPOINT_INLINE box partition::box_at(const dims& global_shape, int rank) const {
  box out = box::whole(global_shape);
  for (std::size_t axis = 0; axis < divided_.size(); ++axis) {
    for (const step& by : divided_[axis]) {
      index_t& extent = out.shape[axis];
      const index_t part = ceil_div(extent, by.extent);
      const index_t position = rank / by.stride % by.extent;
      // No product overflows that stays within the extent.
      const index_t begin =
          part == 0 || position > extent / part ? extent : std::min(position * part, extent);
      out.offset[axis] += begin;
      extent = std::min(part, extent - begin);
    }
  }
  return out;
}

ZARRPOINT_INLINE result<box> partition::box_of(const dims& global_shape, int rank) const {
  ZARRPOINT_CHECK(check_rank(rank));
  ZARRPOINT_CHECK(check_shape(global_shape));
  return box_at(global_shape, rank);
}

ZARRPOINT_INLINE result<std::vector<box>> partition::boxes_of(const dims& global_shape) const {
  ZARRPOINT_CHECK(check_shape(global_shape));
  std::vector<box> out;
  out.reserve(static_cast<std::size_t>(mesh_.size()));
  for (int rank = 0; rank < mesh_.size(); ++rank) out.push_back(box_at(global_shape, rank));
  return out;
}

ZARRPOINT_INLINE result<int> partition::replica_of(int rank) const {
  ZARRPOINT_CHECK(check_rank(rank));
  int number = 0;
  int each = 1;
  for (const step& by : copied_) {
    number += rank / by.stride % by.extent * each;
    each *= by.extent;
  }
  return number;
}

ZARRPOINT_INLINE result<sharding> partition::sharding_of(int rank) const {
  ZARRPOINT_TRY(replica, replica_of(rank));
  sharding out;
  out.replica = replica;
  for (std::size_t axis = 0; axis < divided_.size(); ++axis) {
    index_t position = 0;
    for (const step& by : divided_[axis])
      position = position * by.extent + rank / by.stride % by.extent;
    if (!divided_[axis].empty()) out.offsets.push_back({axis, position, parts_of(axis)});
  }
  return out;
}

ZARRPOINT_INLINE result<shard_metadata> partition::shard_of(std::string key,
                                                            const tensor_spec& global,
                                                            int rank) const {
  ZARRPOINT_TRY(part, box_of(global.shape, rank).at("shard of \"" + key + "\""));
  ZARRPOINT_TRY(replica, replica_of(rank));
  shard_metadata out{.key = std::move(key),
                     .type = global.type,
                     .local_shape = part.shape,
                     .global_shape = global.shape,
                     .global_offset = part.offset};
  out.replica = replica;
  dims parts;
  bool is_even = true;
  for (std::size_t axis = 0; axis < global.shape.rank(); ++axis) {
    parts.push_back(parts_of(axis));
    is_even = is_even && global.shape[axis] % parts[axis] == 0;
  }
  if (is_even) out.fragmentation = parts;
  ZARRPOINT_CHECK(out.check());
  return out;
}

ZARRPOINT_INLINE result<partition> partition::of_boxes(rank_mesh mesh, const dims& global_shape,
                                                       std::span<const box> by_rank) {
  if (by_rank.size() != static_cast<std::size_t>(mesh.size()))
    return error{errc::invalid_argument, std::to_string(by_rank.size()) +
                                             " boxes were given; the mesh has " +
                                             std::to_string(mesh.size()) + " ranks"};
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
    ZARRPOINT_CHECK(
        selection(by_rank[rank]).check(global_shape).at("the box of rank " + std::to_string(rank)));
  // The second rank along an axis of the mesh has the second part of the tensor's axis that is
  // divided by it. Of several mesh axes the major one takes the largest step, and of those whose
  // steps are equal the one with something left.
  struct divisor {
    const rank_mesh::axis* by;
    index_t begin;
    index_t extent;
  };
  partition_spec spec;
  for (std::size_t axis = 0; axis < global_shape.rank(); ++axis) {
    std::vector<divisor> found;
    int stride = 1;
    for (const rank_mesh::axis& by : mesh.axes()) {
      if (by.extent > 1) {
        const box& second = by_rank[static_cast<std::size_t>(stride)];
        if (second.offset[axis] != by_rank[0].offset[axis])
          found.push_back({&by, second.offset[axis], second.shape[axis]});
      }
      stride *= by.extent;
    }
    detail::sort_by(found, [](const divisor& a, const divisor& b) {
      return a.begin != b.begin ? a.begin > b.begin : a.extent > b.extent;
    });
    std::vector<std::string>& names = spec.axes.emplace_back();
    for (const divisor& one : found) names.push_back(one.by->name);
  }
  while (!spec.axes.empty() && spec.axes.back().empty()) spec.axes.pop_back();

  ZARRPOINT_TRY(out, make(std::move(mesh), std::move(spec), uneven_parts::ceil)
                         .at("no partition of the mesh gives the boxes"));
  ZARRPOINT_CHECK(out.check_shape(global_shape));
  bool is_even = true;
  for (std::size_t axis = 0; axis < global_shape.rank(); ++axis)
    is_even = is_even && global_shape[axis] % out.parts_of(axis) == 0;
  if (is_even) out.rule_ = uneven_parts::refuse;
  for (int rank = 0; rank < out.mesh_.size(); ++rank) {
    const box& given = by_rank[static_cast<std::size_t>(rank)];
    const box made = out.box_at(global_shape, rank);
    if (made != given)
      return error{errc::invalid_argument, "no partition of the mesh gives the boxes: rank " +
                                               std::to_string(rank) + " has " + to_string(given) +
                                               ", where " + to_string(out.spec_) + " has " +
                                               to_string(made)};
  }
  return std::move(out);
}

}}  // namespace zarrpoint::v0
