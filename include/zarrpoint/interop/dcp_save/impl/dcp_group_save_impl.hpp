// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/interop/dcp_save/dcp_group_save.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_operation.hpp>

#include <span>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp {

ZARRPOINT_INLINE result<state_save_report> save(
    const location& where, const any_communicator& ranks, std::span<const sharded_tensor> shards,
    std::span<const leaf> leaves, const state_save_options& options, const context& how) {
  detail::save_operation one(where, ranks, options, how);
  return one.run(shards, leaves);
}

}}}  // namespace zarrpoint::v0::dcp
