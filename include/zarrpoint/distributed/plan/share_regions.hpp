// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/plan/shard_table.hpp>

// Processes that ask for different boxes of a tensor may need the same stored chunks, each of them
// all of a chunk. A load by columns of what is stored by rows is such a one. What is read once for
// all of them are regions of whole chunks.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// How requests are cut into regions.
struct region_options {
  /// Of each form of the requests: what of the stored tensor is read at a time (an inner chunk).
  /// Requests of a form without one are not cut.
  std::vector<dims> units{};
  std::vector<int> group_of{};  ///< by process: each group reads for itself; empty: all are one
  /// Of a region, as a rule: what stays in a processor's cache. A unit that has more is one.
  std::uint64_t bytes = std::uint64_t{1} << 20;
  /// Where a region and what is sent of it have more, its tensor is not cut.
  std::uint64_t most = UINT64_MAX;
};

/// What is read, with an entry for each process that wants some of it: the same box for all of
/// them, of which each wants what its request has.
struct shared_regions {
  shard_table table;
  std::vector<std::uint32_t> request_of;  ///< of each entry
  /// The entries before it are parts of requests, without prepended axes; those behind are requests
  /// that are not cut.
  std::size_t first_whole = 0;

  bool is_cut(std::size_t entry) const noexcept { return entry < first_whole; }
  /// What an entry that is cut wants of its region, in the global tensor.
  box wanted(const shard_table& requests, std::size_t entry) const;
};

/// Cuts requests of one tensor whose boxes differ, but meet the same units. They become what only
/// one of them wants, and regions of whole units of which several want something, no larger than
/// what they want. Equal boxes are one region, and so is what is flat, empty, or of no fixed size.
/// The same on all processes. Errors: those of `shard_table::append`.
result<shared_regions> share_regions(const shard_table& requests, const region_options& how);

}}}  // namespace zarrpoint::v0::detail
