// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/plan/validate_sharding.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/distributed/shard/sharded_object.hpp>
#include <zarrpoint/distributed/state/expand_factories.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/distributed/state/state_ops.hpp>

#include <span>
#include <vector>

// Describe: what one process brings to a save, taken apart; its own tree is left as it was.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The member of the common state that tells what the state is.
inline constexpr std::string_view content_member = "content_metadata";

struct prepared_state {
  std::vector<sharded_tensor> tensors;  ///< in the order of their paths
  std::vector<sharded_object> objects;
  state common;
};

result<prepared_state> prepare_to_save(const state& tree, const node& content);

/// What rank 0 must know of the others to plan.
result<message> describe_state(const prepared_state& of, const message& common_if_it_differs);

/// The same, read by rank 0.
struct described_states {
  shard_table shards;
  std::vector<gathered_object> objects;
  std::vector<message> commons;  ///< by rank; empty where it is that of rank 0
};

result<described_states> read_descriptions(std::span<const message> from_ranks);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/save/impl/prepare_state_impl.hpp>
#endif
