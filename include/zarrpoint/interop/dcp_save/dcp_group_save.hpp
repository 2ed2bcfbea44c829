// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/default_context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/save/save_protocol.hpp>
#include <zarrpoint/distributed/save/save_queue.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

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

namespace detail {
class save_format;
}  // namespace detail

/// What one process has of a state.
struct state_part {
  std::span<const sharded_tensor> shards{};
  std::span<const leaf> leaves{};
};

/// Saves by many processes, or by one, that go on in the background, in order, as
/// `zarrpoint::async_saves` has them: `schedule` returns when everything is copied, the executor of
/// the context writes, and `finalize` commits what is written. Both are collective.
///
/// A queue that is destroyed waits for its own writes and commits nothing; what rank 0 staged is
/// removed.
class async_saves {
 public:
  explicit async_saves(any_communicator ranks = {}, const context& how = default_context())
      : ranks_(std::move(ranks)), how_(how), queue_(ranks_, how_.executor) {}

  using finalizer = std::function<result<void>(const state_save_report&)>;

  /// Plans and copies a save, and has it written. The tensors may be changed afterwards.
  /// `when_committed` is called by `finalize` on this process, once, if all processes know that the
  /// checkpoint is there. Errors: those of `save` up to there, the same on all.
  result<void> schedule(const location& where, const state_part& mine,
                        const state_save_options& options = {}, finalizer when_committed = {});

  /// Commits the saves that are complete on all processes, oldest first, or with `wait` all of
  /// them. A save that failed is an error on all, and the checkpoint that was there before stays;
  /// later saves go on. Errors: the first of the failures, after all were finalized;
  /// `invalid_argument` where processes have scheduled different numbers of saves; that of a
  /// `when_committed`, on its process alone.
  result<std::vector<state_save_report>> finalize(bool wait = true);

  /// How many saves are scheduled and not yet finalized.
  std::size_t unfinalized() const noexcept { return queue_.size(); }

 private:
  any_communicator ranks_;
  context how_;
  v0::detail::save_queue<v0::detail::collective_save<detail::save_format>, state_save_report>
      queue_;
};

}}}  // namespace zarrpoint::v0::dcp

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/dcp_save/impl/dcp_group_save_impl.hpp>
#endif
