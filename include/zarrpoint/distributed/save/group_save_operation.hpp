// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/distributed/save/group_save_place.hpp>
#include <zarrpoint/distributed/save/plan_group_save.hpp>
#include <zarrpoint/distributed/save/plan_message.hpp>
#include <zarrpoint/distributed/save/prepare_state.hpp>
#include <zarrpoint/distributed/save/told_commit.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/distributed/strategy/message_budget.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/distributed/strategy/strategy.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What a `plan_cache` has of the last save.
struct kept_plan {
  message description;  ///< what the process brought
  strategy_id saver;
  int ranks = 0, rank = 0;  ///< of how many, and which of them it was
  process_part part;
  std::vector<planned_array> arrays;  ///< of rank 0
  std::shared_ptr<const group_plan> plan;
};

/// A save of several processes, step by step: `begin` and `finish` are collective, `write` between
/// them is not, and may run in the background.
class group_save_operation {
 public:
  /// Describe, plan, stage. With `copies` the caller may change its tensors afterwards.
  static result<std::unique_ptr<group_save_operation>> begin(const location& where,
                                                             const state& tree,
                                                             const process_group& group,
                                                             const group_save_options& options,
                                                             bool copies);

  group_save_operation(const location& where, const process_group& group,
                       const group_save_options& options)
      : where_(where), name_(where.name()), group_(group), options_(options) {
    group_.how = with_scratch(group_.how);
  }

  /// Encodes and writes what this process has to; a receipt for `finish`.
  result<message> write() const;

  /// The commit, or on all processes the error of any.
  result<group_save_report> finish(result<message> receipt);

  /// The tree that all write to: another one for each save, the same on all processes.
  const std::string& staged_name() const noexcept { return part_.staged_name; }

 private:
  bool is_root() const { return group_.ranks.rank() == 0; }

  /// What rank 0 tells of a commit that took place.
  message encode_report() const;
  result<void> read_report(bytes_view told);

  result<void> prepare(const state& tree);

  /// One gather, one scatter: rank 0 plans for all.
  result<void> plan(const state& tree);

  /// What is saved must be what a load within the same limits takes.
  result<void> check_loadable(std::size_t common_bytes) const;

  /// Whether every process brings what it brought the last time.
  result<bool> is_known(const message& described) const;

  /// The plan of the last time, for another tree.
  result<void> plan_again();

  static message digest_of(bytes_view text);

  /// Rank 0: decides all, and makes the tree that all write to.
  result<std::vector<message>> plan_all(std::span<const message> described,
                                        message_budget& counted);

  result<void> stage(bool copies);

  /// Rank 0: everything is written; metadata, and one rename.
  result<message> commit(std::vector<message> receipts);

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  location where_;
  std::string name_;
  process_group group_;
  group_save_options options_;
  any_strategy saver_;
  any_strategy common_saver_;
  prepared_state prepared_;
  node common_;
  node compared_;  ///< what of it all must have alike
  process_part part_;
  shard_writes writes_;
  group_save_place place_{where_, group_, saver_, options_.storage};
  group_save_report report_;
  told_commit commit_{group_.ranks};
  // Of rank 0 alone:
  std::vector<planned_array> arrays_;
  std::shared_ptr<const group_plan> plan_;
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/save/impl/group_save_operation_impl.hpp>
#endif
