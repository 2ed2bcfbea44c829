// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>

#include <cstdint>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Among which processes the work is spread.
struct distribution {
  /// The group of each process; empty: all are one group. Each group is looked at by itself.
  std::vector<int> group_of{};
  /// Also the shards whose main replica is in another group, after all others: for a load, in which
  /// each group reads what it needs. For a save each shard is the business of one group.
  bool from_other_groups = false;
};

/// Spreads the shards over the processes that hold them, main replica or not: for each shard (once
/// in each group that it concerns) the number in the table of the holder that stores or reads it,
/// in the order of groups, keys and offsets. The same on every process: those that the fewest hold
/// come first, then those of most bytes, then by key, offset and flat range; each goes to the
/// holder that has been given the fewest bytes, the lowest of several. O(n log n) for n entries.
/// Errors: `invalid_argument` for a process without a group.
result<std::vector<std::uint32_t>> distribute(const shard_table& shards,
                                              const distribution& how = {});

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/plan/impl/distribute_impl.hpp>
#endif
