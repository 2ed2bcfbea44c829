// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// Along which axis of a mesh neighbouring ranks differ.
enum class mesh_order : std::uint8_t {
  first_fastest,  ///< the first, as Megatron-Core has it: "tp-dp-pp"
  last_fastest,   ///< the last, as in JAX and DTensor, whose meshes are row-major arrays of ranks
};

/// How ranks are arranged: by axes, such as tensor, data and pipeline parallelism.
class rank_mesh {
 public:
  struct axis {
    std::string name;
    int extent = 1;
  };

  /// Errors: `invalid_argument` for an extent below 1 and a name that is there twice,
  /// `out_of_range` for too many ranks.
  static result<rank_mesh> make(std::vector<axis> axes,
                                mesh_order order = mesh_order::first_fastest);

  /// The first is the one along which neighbouring ranks differ, whatever order `make` was given.
  std::span<const axis> axes() const noexcept { return axes_; }
  /// How many ranks there are.
  int size() const noexcept { return size_; }
  /// How many along an axis; 1 along one that the mesh does not have.
  int extent(std::string_view name) const;

  /// Where a rank stands along an axis; 0 along one that the mesh does not have. `rank` is below
  /// `size()`.
  int coordinate(int rank, std::string_view name) const;

  /// The number of the group of ranks that differ along `name` alone, such as those that hold
  /// copies of one shard. Groups are counted along the other axes, the fastest first. So in
  /// tp-dp-pp that of `dp` is `pp * TP + tp`, which a smaller PP leaves as it is.
  int group_of(int rank, std::string_view name) const;

 private:
  rank_mesh() = default;

  std::vector<axis> axes_;
  int size_ = 1;
};

}}  // namespace zarrpoint::v0
