// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one place where a mesh of ranks becomes boxes of tensors, and boxes become axes of a mesh.

#include <zarrpoint/distributed/communicate/rank_mesh.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>

#include <span>

namespace zarrpoint { inline namespace v0 {

/// By which axes of a mesh each axis of a tensor is divided: their names, the major one first. An
/// axis without names, or behind the list, is whole. JAX's `PartitionSpec("x", None, ("y", "z"))`
/// is `{{{"x"}, {}, {"y", "z"}}}`.
struct partition_spec {
  std::vector<std::vector<std::string>> axes{};

  friend bool operator==(const partition_spec&, const partition_spec&) = default;
};

/// `"(x, -, y*z)"`.
std::string to_string(const partition_spec& spec);

/// What becomes of an extent that is not a multiple of the number of its parts.
enum class uneven_parts : std::uint8_t {
  refuse,  ///< an error, as in JAX
  /// Parts of `ceil(extent / count)` elements, the last ones shorter or empty, along one axis of
  /// the mesh after another, as DTensor has it.
  ceil,
};

/// How tensors are divided over the ranks of a mesh: each rank has one box of a tensor.
class partition {
 public:
  /// Errors: `invalid_argument` for a name that the mesh does not have, or that is there twice.
  static result<partition> make(rank_mesh mesh, partition_spec spec,
                                uneven_parts rule = uneven_parts::refuse);

  /// The one that gives each rank its box, by rank. Where several do, it has the fewest names: none
  /// of an axis of one rank, and none along an extent of 0. Its rule is `ceil` if `refuse` would
  /// be an error. Errors: `invalid_argument` where none does, or there is not a box for each rank.
  static result<partition> of_boxes(rank_mesh mesh, const dims& global_shape,
                                    std::span<const box> by_rank);

  const rank_mesh& mesh() const noexcept { return mesh_; }
  const partition_spec& spec() const noexcept { return spec_; }
  uneven_parts rule() const noexcept { return rule_; }

  /// The box of a tensor that a rank has. Errors: `out_of_range` for a rank that the mesh does not
  /// have; `invalid_argument` for a tensor of fewer axes than the spec, a negative extent, and one
  /// that is refused.
  result<box> box_of(const dims& global_shape, int rank) const;
  /// Those of all ranks. Errors: the same.
  result<std::vector<box>> boxes_of(const dims& global_shape) const;

  /// Which copy of its box a rank has: ranks that differ along axes without a tensor's axis have
  /// the same box, and are counted in their order. Errors: `out_of_range`.
  result<int> replica_of(int rank) const;

  /// For `shard`, which is given local tensors that are all of one shape. Errors: `out_of_range`.
  result<sharding> sharding_of(int rank) const;

  /// The shard of a global tensor that a rank has; in a regular grid where all parts are equal.
  /// Errors: those of `box_of` and of `shard_metadata::check`.
  result<shard_metadata> shard_of(std::string key, const tensor_spec& global, int rank) const;

 private:
  /// Where a rank stands along an axis of the mesh: `rank / stride % extent`.
  struct step {
    int stride = 1;
    int extent = 1;
  };

  partition(rank_mesh mesh, partition_spec spec, uneven_parts rule);

  result<void> check_rank(int rank) const;
  result<void> check_shape(const dims& global_shape) const;
  /// How many parts a tensor has along an axis.
  index_t parts_of(std::size_t axis) const;
  box box_at(const dims& global_shape, int rank) const;

  rank_mesh mesh_;
  partition_spec spec_;
  uneven_parts rule_;
  std::vector<std::vector<step>> divided_;  ///< for each axis of the spec
  std::vector<step> copied_;                ///< axes of the mesh without one, the fastest first
};

}}  // namespace zarrpoint::v0
