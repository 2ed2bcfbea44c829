// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/rank_mesh.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<rank_mesh> rank_mesh::make(std::vector<axis> axes, mesh_order order) {
  rank_mesh out;
  std::int64_t ranks = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].extent < 1)
      return error{errc::invalid_argument, "axis \"" + axes[i].name + "\" of a mesh has extent " +
                                               std::to_string(axes[i].extent)};
    for (std::size_t j = 0; j < i; ++j) {
      if (axes[j].name == axes[i].name)
        return error{errc::invalid_argument, "a mesh has axis \"" + axes[i].name + "\" twice"};
    }
    ZARRPOINT_TRY(more, checked_mul(ranks, axes[i].extent));
    if (more > INT32_MAX) return error{errc::out_of_range, "a mesh of more than 2^31 ranks"};
    ranks = more;
  }
  if (order == mesh_order::last_fastest) std::reverse(axes.begin(), axes.end());
  out.axes_ = std::move(axes);
  out.size_ = static_cast<int>(ranks);
  return out;
}

ZARRPOINT_INLINE int rank_mesh::extent(std::string_view name) const {
  for (const axis& one : axes_) {
    if (one.name == name) return one.extent;
  }
  return 1;
}

ZARRPOINT_INLINE int rank_mesh::coordinate(int rank, std::string_view name) const {
  for (const axis& one : axes_) {
    if (one.name == name) return rank % one.extent;
    rank /= one.extent;
  }
  return 0;
}

ZARRPOINT_INLINE int rank_mesh::group_of(int rank, std::string_view name) const {
  int number = 0;
  int step = 1;
  for (const axis& one : axes_) {
    if (one.name != name) {
      number += rank % one.extent * step;
      step *= one.extent;
    }
    rank /= one.extent;
  }
  return number;
}

}}  // namespace zarrpoint::v0
