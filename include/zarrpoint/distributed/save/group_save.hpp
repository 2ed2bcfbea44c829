// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/save/save_summary.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/save/save_protocol.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>

#include <cstdint>

namespace zarrpoint { inline namespace v0 {

/// What a save of several processes did, as one of them sees it.
struct group_save_report : save_summary {
  std::uint64_t cells = 0;  ///< objects of tensors that this process wrote, of `bytes`
};

/// Saves the state of a group of processes as one checkpoint, in one step. Until rank 0's last
/// rename the target stays as it was, even if a process fails or dies. Collective; `tree` is what
/// this process brings, and is not changed. Each shard is stored once, by one process, as an object
/// of its own.
///
/// Errors are the same on all processes. `invalid_argument`, `out_of_range`, `dtype_mismatch` and
/// `shape_mismatch` name keys and ranks of shards that make no sense or do not tile their tensors.
/// `unavailable` names a process that is gone. All others are those of `save`.
result<group_save_report> save(const location& where, const state& tree, const process_group& group,
                               const group_save_options& options = {});

}}  // namespace zarrpoint::v0
