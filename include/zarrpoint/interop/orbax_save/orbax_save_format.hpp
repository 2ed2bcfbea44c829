// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/checkpoint/save/stage_leaves.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/save/commit_outcome.hpp>
#include <zarrpoint/distributed/save/group_save_place.hpp>
#include <zarrpoint/distributed/save/save_protocol.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>
#include <zarrpoint/interop/orbax/orbax_step.hpp>
#include <zarrpoint/interop/orbax_save/orbax_item.hpp>
#include <zarrpoint/interop/orbax_save/orbax_plan.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save.hpp>
#include <zarrpoint/interop/orbax_save/orbax_shared_tree.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

/// Leaves of one process that were described, and copied from devices, before the save began.
struct staged_tree {
  described_tree described{};
  v0::detail::staged_leaves early{};  ///< of each leaf, or of none
};

/// What rank 0 decides of a tree.
struct group_tree_plan {
  shared_tree shared;
  tree_plan plan;
};

/// An array that is written.
struct stored_array : planned_array {
  store_key at = store_key::root();
};

/// What a tree of Orbax replaces: another one, or an item of a step.
class tree_rules final : public v0::detail::place_rules {
 public:
  explicit tree_rules(const format& as) : as_(as) {}

  v0::detail::replace_rule rule() const override {
    using v0::detail::directory_kind;
    // A tree of one array has a document of Zarr at its root.
    return {{}, true, "an Orbax checkpoint", directory_kind::orbax, {directory_kind::zarr}};
  }
  result<v0::detail::own_look> look(const any_store& root) const override;
  result<std::optional<std::vector<std::string>>> paths_of(const any_store& root) const override;
  /// Only what is published in one step replaces another tree.
  result<void> erase_document(const any_store& /*root*/) const override { return {}; }

 private:
  const format& as_;
};

/// Checkpoints of Orbax as a format of the protocol.
class save_format final : public v0::detail::save_format {
 public:
  save_format(const v0::detail::save_group& group, const location& where, tree_part mine,
              tree_options options);

  std::shared_ptr<staged_tree> early{};  ///< null: nothing was described before
  std::shared_ptr<const void> held{};    ///< what it was given is of this, or the caller's

  result<void> prepare() override;
  std::string_view shared() const override { return shared_; }
  result<message> describe(bool differs) override;
  result<std::vector<message>> plan(std::vector<message> described) override;
  std::string staged_name() const override { return place_.staged_name(); }
  result<void> take_part(bytes_view part) override;
  result<void> join(const std::string& staged_name) override;
  std::string plan_kind() const override;
  std::shared_ptr<const void> keep_plan() const override;
  result<void> reuse(const std::shared_ptr<const void>& kept) override;
  result<void> stage(std::vector<message> pieces, bool copies) override;
  result<message> write() override;
  result<message> commit(std::vector<message> receipts,
                         v0::detail::commit_outcome& commit) override;

 private:
  bool is_root() const { return group_.ranks.rank() == 0; }
  bool is_alone() const { return group_.ranks.size() == 1; }

  // Of each.
  result<described_leaf> describe_shard(const sharded_tensor& shard) const;
  /// Makes `target_` the checkpoint or step that is written.
  result<void> find_target();
  /// The directory of the tree in that.
  result<any_store> item() const;
  result<message> write_arrays(const any_store& to);

  // Of rank 0.
  result<void> check_paths(const shared_tree& shared) const;
  result<void> check_chunks(const tree_plan& plan) const;
  result<void> open_place();
  /// What is there now tells of other items of the step.
  result<void> look();
  result<std::vector<message>> parts() const;
  result<void> read_receipts(std::span<const message> receipts);
  /// What is beside the arrays and their own records, the mark of the commit last.
  result<void> put_records();
  std::vector<std::string> taken_paths() const;

  const v0::detail::save_group& group_;
  location target_;
  const tree_part given_;  ///< the caller's, gone when all is staged
  const tree_options options_;
  const tree_rules rules_{options_.as};
  v0::detail::group_save_place place_{
      target_,
      group_,
      {.overwrite = options_.how.overwrite, .sync = options_.how.sync, .mark = unfinished_mark},
      rules_};

  std::string shared_;                                  ///< the options that all must have alike
  std::map<std::string_view, const tree_path*> paths_;  ///< those of the options
  std::vector<described_leaf> mine_;
  std::vector<cell_write> sources_;  ///< of each of them; of an array it has a `stage`
  std::vector<std::string> early_warnings_;

  // Of rank 0.
  std::shared_ptr<const group_tree_plan> plan_;
  checkpoint_facts about_;

  message part_;
  std::string record_;               ///< what this process tells of the arrays
  std::deque<stored_array> arrays_;  ///< those of `writes_`
  shard_writes writes_;
  std::map<std::string, double, std::less<>> seconds_;  ///< of each of those, when it is written
};

}}}}  // namespace zarrpoint::v0::orbax::detail
