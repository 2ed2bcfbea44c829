// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/save/sharing_store.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/save/commit_outcome.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/distributed/save/group_save_place.hpp>
#include <zarrpoint/distributed/save/plan_group_save.hpp>
#include <zarrpoint/distributed/save/plan_message.hpp>
#include <zarrpoint/distributed/save/save_protocol.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/distributed/strategy/message_budget.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/distributed/strategy/strategy.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What lies where strategies write, by what `saver` says of it.
class strategy_rules final : public place_rules {
 public:
  strategy_rules(const any_strategy& saver, const context& how) : saver_(saver), how_(how) {}

  replace_rule rule() const override;
  result<own_look> look(const any_store& root) const override;
  result<std::optional<std::vector<std::string>>> paths_of(const any_store& root) const override;
  result<void> erase_document(const any_store& root) const override;

 private:
  const sharded_saver_interface& saver() const { return *saver_.sharded_saver(); }

  const any_strategy& saver_;
  const context& how_;
};

/// Checkpoints that strategies write, ours and Megatron-Core's, as a format of the protocol.
class strategy_format final : public save_format {
 public:
  /// `options`: those of the request, with the strategies that are used.
  strategy_format(const group_save_request& of, group_save_options options)
      : tree_(&of.tree),
        where_(of.where),
        group_(of.group),
        known_(of.known),
        options_(std::move(options)) {}

  result<void> prepare() override;
  std::string_view shared() const override { return shared_; }
  result<message> describe(bool differs) override;
  result<std::vector<message>> plan(std::vector<message> described) override;
  std::string staged_name() const override { return place_.staged_name(); }
  result<void> take_part(bytes_view part) override;
  result<void> join(const std::string& staged_name) override { return place_.join(staged_name); }
  std::string plan_kind() const override;
  std::shared_ptr<const void> keep_plan() const override;
  result<void> reuse(const std::shared_ptr<const void>& kept) override;
  bool exchanges() const override { return part_.exchanges; }
  result<std::vector<message>> pieces(message_budget& counted) const override;
  result<void> stage(std::vector<message> pieces, bool copies) override;
  result<message> write() override;
  result<message> commit(std::vector<message> receipts, commit_outcome& commit) override;

 private:
  save_job job() const;
  /// What is saved must be what a load within the same limits takes.
  result<void> check_loadable(std::size_t common_bytes) const;

  const state* tree_;  ///< the caller's, until it is prepared
  location where_;
  const save_group& group_;
  strategy_table known_;
  group_save_options options_;
  any_strategy saver_;
  any_strategy common_saver_;
  prepared_state prepared_;
  json common_;
  json compared_;       ///< what of it all must have alike
  std::string shared_;  ///< that, as JSON
  process_part part_;
  shard_writes writes_;
  strategy_rules rules_{saver_, group_.how};
  group_save_place place_{
      where_, group_, {options_.storage.overwrite, options_.storage.sync}, rules_};
  std::optional<sharing_store> sharing_;
  // Of rank 0 alone:
  std::vector<planned_array> arrays_;
  std::shared_ptr<const group_plan> plan_;
};

}}}  // namespace zarrpoint::v0::detail
