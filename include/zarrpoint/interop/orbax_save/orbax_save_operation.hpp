// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/save/commit_outcome.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>
#include <zarrpoint/interop/orbax_save/orbax_group_save.hpp>
#include <zarrpoint/interop/orbax_save/orbax_item.hpp>
#include <zarrpoint/interop/orbax_save/orbax_plan.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save_options.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save_target.hpp>
#include <zarrpoint/interop/orbax_save/orbax_shared_tree.hpp>
#include <zarrpoint/store/base/any_store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

/// A save by many processes, as one of them sees it, step by step: `begin` and `finish` are
/// collective, `write` between them is not, and may run in the background.
class save_operation {
 public:
  save_operation(location where, any_communicator ranks, const save_tree_options& options,
                 const context& how)
      : where_(std::move(where)),
        ranks_(std::move(ranks)),
        options_(with_item(options)),
        how_(with_scratch(how)) {}

  /// Describes, plans and joins. With `copies` the caller may change its tensors afterwards.
  result<void> begin(const tree_part& mine, bool copies);

  /// Encodes and writes what this process has to; a receipt for `finish`.
  result<message> write();

  /// The commit, or on all processes the error of any.
  result<save_report> finish(result<message> receipt);

  /// The tree that all write to: another one for each save, the same on all processes.
  const std::string& staged_name() const noexcept { return staged_name_; }

 private:
  bool is_root() const { return ranks_.rank() == 0; }

  result<void> share_plan(const tree_part& mine);
  result<void> finish_steps(result<message> receipt);
  error explain(error failure) const;

  // Describe.
  result<message> describe(const tree_part& mine);
  result<described_leaf> describe_shard(const sharded_tensor& shard) const;
  message shared_options() const;

  // On rank 0.
  result<std::vector<message>> plan(std::vector<message> described);
  result<void> check_paths() const;
  result<void> count_chunks() const;
  result<std::vector<message>> parts() const;
  result<message> commit(std::span<const message> receipts);

  // On all ranks.
  result<void> join(const message& part);
  result<void> join_store();
  result<void> keep_parts();
  result<message> write_all();
  result<void> write_documents(const any_store& to) const;
  result<message> write_parts(const any_store& to);

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const location where_;
  const any_communicator ranks_;
  const save_tree_options options_;
  const context how_;
  v0::detail::commit_outcome commit_{ranks_};
  save_report report_;
  std::optional<double> blocked_seconds_;  ///< of `begin` with copies

  std::map<std::string_view, const tree_path*> paths_;  ///< those of the options
  std::vector<described_leaf> mine_;
  std::vector<cell_write> sources_;  ///< of each of them; of an array it has a `stage`

  // Of rank 0.
  shared_tree shared_;
  tree_plan plan_;
  std::optional<tree_target> target_;

  std::string staged_name_;
  std::optional<any_store> store_;    ///< the directory of the tree
  std::string record_;                ///< what this process tells of the arrays
  std::deque<planned_array> arrays_;  ///< those of `writes_`
  shard_writes writes_;
};

}}}}  // namespace zarrpoint::v0::orbax::detail
