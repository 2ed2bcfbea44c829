// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/distributed/plan/intersect.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>
#include <zarrpoint/distributed/plan/sharding_problems.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Whether shards hold each element of a tensor once. The shards have passed
/// `shard_metadata::check`, have elements and are of one tensor, which has elements.
class tiling_checker {
 public:
  tiling_checker(const shard_table& table, sharding_problems& problems);

  /// One of each shard that is held in flat pieces, which are to follow each other; of others all.
  std::vector<std::uint32_t> join_ranges(const shard_form& form,
                                         std::span<const sorted_shard> mains);

  /// Of a regular grid; `boxes` are in row-major order.
  void check_regular(const shard_form& form, std::span<const std::uint32_t> boxes);

  /// Of any other grid.
  void check_irregular(const shard_form& form, std::span<const std::uint32_t> boxes);

 private:
  void check_ranges(const shard_form& form, std::span<const sorted_shard> pieces);

  index_t cell_of(std::uint32_t shard) const;
  static box cell_box(const shard_form& form, index_t cell);

  void note_copies(const shard_form& form, std::span<const std::uint32_t> copies);
  void note_holes(const shard_form& form, const std::vector<std::string>& holes, index_t missing,
                  index_t all, std::string_view what);

  /// Counts how many shards hold each cell between all boundaries. Answers whether it did; where
  /// shards overlap again and again it may take too long.
  bool count_cells(const shard_form& form, axis_cuts& cuts, const detail::box_list& list,
                   index_t cells, bool& overlaps);

  /// Names the first shards found that overlap; answers whether there are any.
  bool note_overlaps(const shard_form& form, std::span<const std::uint32_t> boxes,
                     const detail::box_list& list);

  const shard_table& table_;
  sharding_problems& problems_;
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/plan/impl/check_tiling_impl.hpp>
#endif
