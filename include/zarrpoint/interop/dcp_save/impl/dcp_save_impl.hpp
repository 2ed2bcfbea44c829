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
#include <zarrpoint/interop/dcp_save/dcp_save.hpp>

#include <initializer_list>
#include <span>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp {

// Of dcp_group_save.hpp, which includes dcp_save.hpp and is not read yet when it comes first.
result<state_save_report> save(const location& where, const any_communicator& ranks,
                               std::span<const sharded_tensor> shards, std::span<const leaf> leaves,
                               const state_save_options& options, const context& how);

ZARRPOINT_INLINE result<state_save_report> save(const location& where, std::span<const leaf> leaves,
                                                const state_save_options& options,
                                                const context& how) {
  return save(where, any_communicator(), {}, leaves, options, how);
}

ZARRPOINT_INLINE result<state_save_report> save(const location& where,
                                                std::initializer_list<leaf> leaves,
                                                const state_save_options& options,
                                                const context& how) {
  return save(where, std::span<const leaf>(leaves.begin(), leaves.size()), options, how);
}

}}}  // namespace zarrpoint::v0::dcp
