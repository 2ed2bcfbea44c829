// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/default_context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save.hpp>

#include <span>

namespace zarrpoint { inline namespace v0 { namespace dcp {

/// `save` by many processes; all call it. Each gives the shards that it has, and leaves that are
/// whole; of what several have, the one stores it that has the fewest bytes to store, and of a
/// value the lowest rank. Rank `r` writes `__r_0.distcp` and on, rank 0 `.metadata`. All give the
/// same options; what rank 0 gives counts where it decides. The directory must be one for all.
///
/// Errors: those of `save`, the same on all ranks; `invalid_argument` for shards of one tensor that
/// differ in dtype or shape; `unsupported` for flat pieces of shards.
result<state_save_report> save(const location& where, const any_communicator& ranks,
                               std::span<const sharded_tensor> shards,
                               std::span<const leaf> leaves = {},
                               const state_save_options& options = {},
                               const context& how = default_context());

}}}  // namespace zarrpoint::v0::dcp

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/dcp_save/impl/dcp_group_save_impl.hpp>
#endif
