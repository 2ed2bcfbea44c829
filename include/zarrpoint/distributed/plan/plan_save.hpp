// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/plan/save_plan.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>

#include <cstdint>
#include <span>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What a plan may take.
struct plan_limits {
  /// Cells of all tensors together. Uneven shards may ask for many: a rectilinear grid has a cell
  /// wherever two boundaries cross.
  std::uint32_t max_cells = std::uint32_t{1} << 26;
};

/// Plans a save: for each key of the table, in order, the grid of cells and who writes each of
/// them. `chosen` says which shards are stored: `main_shards`, or one holder of each by
/// `distribute`; those without elements are left out. No cell is planned twice, whatever the
/// shards are. O(n log n) for n shards and cells.
///
/// A regular grid's cells are the shards. Shards of an irregular one are cut at the greatest common
/// divisor of all boundaries along each axis, unless that makes more than four cells for a shard;
/// then at every boundary. A shard of several cells is written by its process; one in flat pieces
/// by that of the first. Errors: `invalid_argument` where shards disagree or overlap (see
/// `validate_sharding`, which names all of it), `resource_limit`.
result<save_plan> plan_save(const shard_table& table, std::span<const std::uint32_t> chosen,
                            const plan_limits& limits = {});

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/plan/impl/plan_save_impl.hpp>
#endif
