// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/save/commit_outcome.hpp>
#include <zarrpoint/distributed/save/group_save_place.hpp>
#include <zarrpoint/distributed/save/save_protocol.hpp>
#include <zarrpoint/interop/dcp_save/dcp_described_state.hpp>
#include <zarrpoint/interop/dcp_save/dcp_item_writer.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_place.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_plan.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

/// How a state is saved: what all formats have, and what is PyTorch's own.
struct state_options {
  save_options how;
  format as{};
};

/// Checkpoints of PyTorch as a format of the protocol.
class save_format final : public v0::detail::save_format {
 public:
  save_format(const v0::detail::save_group& group, const location& where, const state_part& mine,
              const state_options& options)
      : group_(group), where_(where), given_(mine), options_(options) {}

  std::shared_ptr<const void> held{};  ///< what it was given is of this, or the caller's

  result<void> prepare() override;
  std::string_view shared() const override { return as_text(shared_); }
  result<message> describe(bool differs) override;
  result<std::vector<message>> plan(std::vector<message> described) override;
  std::string staged_name() const override { return place_.staged_name(); }
  result<void> take_part(bytes_view part) override;
  result<void> join(const std::string& staged_name) override { return place_.join(staged_name); }
  std::string plan_kind() const override { return "torch.distributed.checkpoint"; }
  std::shared_ptr<const void> keep_plan() const override;
  result<void> reuse(const std::shared_ptr<const void>& kept) override;
  result<void> stage(std::vector<message> pieces, bool copies) override;
  result<message> write() override;
  result<message> commit(std::vector<message> receipts,
                         v0::detail::commit_outcome& commit) override;

 private:
  result<void> begin_files();

  const v0::detail::save_group& group_;
  const location where_;
  const state_part given_;  ///< the caller's, gone when all is staged
  const state_options options_;

  described_state mine_{options_.as, group_.how};
  message shared_;  ///< what it has of whole leaves, which others may have alike

  state_rules rules_;
  v0::detail::group_save_place place_{
      where_, group_, {options_.how.overwrite, options_.how.sync}, rules_};
  planned_items plan_;  ///< of rank 0
  message part_;
  std::vector<item_to_write> items_;
};

}}}}  // namespace zarrpoint::v0::dcp::detail
