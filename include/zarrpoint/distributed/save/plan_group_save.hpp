// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/plan/validate_sharding.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/distributed/shard/sharded_object.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/distributed/state/state_ops.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>

#include <span>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

// Describe: what one process brings to a save, taken apart; its own tree is left as it was.

/// The member of the common state that tells what the state is.
inline constexpr std::string_view content_member = "content_metadata";

struct prepared_state {
  std::vector<sharded_tensor> tensors;  ///< in the order of their paths
  std::vector<sharded_object> objects;
  state common;
};

result<prepared_state> prepare_to_save(const state& tree, const json& content);

/// What rank 0 must know of the others to plan.
result<message> describe_state(const prepared_state& of, const message& common_if_it_differs);

/// The same, read by rank 0.
struct described_states {
  shard_table shards;
  std::vector<gathered_object> objects;
  std::vector<message> commons;  ///< by rank; empty where it is that of rank 0
};

result<described_states> read_descriptions(std::span<const message> from_ranks);

// Plan: what rank 0 makes of the descriptions of all processes. Pure.

/// What all processes do.
struct group_plan {
  zarrpoint::detail::save_plan plan;
  std::vector<object_id> grids;         ///< one for each key of objects, by key
  std::vector<int> grid_writers;        ///< who puts the metadata of each
  std::vector<planned_object> objects;  ///< by key
  std::vector<std::string> warnings;
};

/// What the parts have in common.
struct part_context {
  int ranks = 1;
  std::vector<std::string> warnings;
};

struct group_planner {
  const group_save_options& options;
  const limits& limit;

  result<group_plan> plan(const described_states& states, const json& common) const;

  /// The plan cut up, a message for each process. Documents are put by the writer of the first
  /// cell, those of tensors without cells by rank 0.
  result<std::vector<message>> parts_of(const group_plan& planned,
                                        std::span<const planned_array> arrays,
                                        const part_context& about) const;

  /// Whether `save_options::attributes_of`, which are sorted, can be stored. Errors:
  /// `invalid_argument` for a name that is not a tensor, object or group, and for one of an object
  /// or group that `saver` has no place for.
  result<void> check_attributes_of(const group_plan& planned, const any_strategy& saver) const;

 private:
  static void add_without_cells(zarrpoint::detail::save_plan& to, planned_tensor tensor);

  /// By key and place; without validation one may come twice.
  static result<void> sort_objects(std::vector<planned_object>& objects);

  /// Every key is one leaf of the hierarchy.
  static result<void> check_names(const group_plan& planned);

  /// What is common should be so: where it differs, that of rank 0 is stored, with a warning for
  /// each other process that says what differs where.
  static result<std::vector<std::string>> compare_commons(std::span<const message> commons,
                                                          const json& of_root);
};

}}}  // namespace zarrpoint::v0::detail
