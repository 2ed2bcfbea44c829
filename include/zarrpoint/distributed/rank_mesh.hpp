// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

/// How ranks are arranged: by axes, such as tensor, data and pipeline parallelism, the first of
/// which is the one along which neighbouring ranks differ ("tp-dp-pp").
class rank_mesh {
 public:
  struct axis {
    std::string name;
    int extent = 1;
  };

  /// Errors: `invalid_argument` for an extent below 1 and a name that is there twice,
  /// `out_of_range` for too many ranks.
  static result<rank_mesh> make(std::vector<axis> axes) {
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
    out.axes_ = std::move(axes);
    out.size_ = static_cast<int>(ranks);
    return out;
  }

  std::span<const axis> axes() const noexcept { return axes_; }
  /// How many ranks there are.
  int size() const noexcept { return size_; }
  /// How many along an axis; 1 along one that the mesh does not have.
  int extent(std::string_view name) const {
    for (const axis& one : axes_) {
      if (one.name == name) return one.extent;
    }
    return 1;
  }

  /// Where a rank stands along an axis; 0 along one that the mesh does not have. `rank` is below
  /// `size()`.
  int coordinate(int rank, std::string_view name) const {
    for (const axis& one : axes_) {
      if (one.name == name) return rank % one.extent;
      rank /= one.extent;
    }
    return 0;
  }

  /// The number of the group of ranks that differ along `name` alone, such as those that hold
  /// copies of one shard: groups are counted along the other axes, in the mesh's order. So in
  /// tp-dp-pp that of `dp` is `pp * TP + tp`, which a smaller PP leaves as it is.
  int group_of(int rank, std::string_view name) const {
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

 private:
  rank_mesh() = default;

  std::vector<axis> axes_;
  int size_ = 1;
};

}  // namespace zarrpoint::inline v0
