// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/default_context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/save/save_queue.hpp>
#include <zarrpoint/interop/orbax_save/orbax_group_save.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save_options.hpp>

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

namespace detail {
class save_operation;
}  // namespace detail

/// Saves by many processes that go on in the background, in order: `schedule` returns when
/// everything is staged, the executor of the context writes, and `finalize` commits what is
/// written. Both are collective, since a commit needs all processes: call them in the same order
/// everywhere.
///
/// A queue that is destroyed waits for its own writes and commits nothing; what rank 0 staged is
/// removed.
class async_saves {
 public:
  explicit async_saves(any_communicator ranks, const context& how = default_context())
      : ranks_(std::move(ranks)), how_(how), queue_(ranks_, how_.executor) {}

  /// What a process does when a save is committed, such as to note its step or to remove an older
  /// one.
  using finalizer = std::function<result<void>(const save_report&)>;

  /// Plans and stages a save, and has it written. The tensors may be changed afterwards.
  /// `when_committed` is called by `finalize` on this process, once, if all processes know that the
  /// checkpoint is there; the others may have another one, or none. Errors: those of the save by
  /// many processes up to there, the same on all.
  result<void> schedule(const location& where, const tree_part& mine,
                        const save_tree_options& options = {}, finalizer when_committed = {});

  /// Commits the saves that are complete on all processes, oldest first, or with `wait` all of
  /// them. What a process did not get written is an error on all, and the checkpoint that was there
  /// before stays; later saves go on. `save_report::blocked_seconds` are those of `schedule`.
  /// Errors: the first of the failures, after all were finalized; `invalid_argument` where
  /// processes have scheduled different numbers of saves; that of a `when_committed`, on its
  /// process alone: the checkpoint stays.
  result<std::vector<save_report>> finalize(bool wait = true);

  /// How many saves are scheduled and not yet finalized.
  std::size_t unfinalized() const noexcept { return queue_.size(); }

 private:
  any_communicator ranks_;
  context how_;
  v0::detail::save_queue<detail::save_operation, save_report> queue_;
};

}}}  // namespace zarrpoint::v0::orbax

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/orbax_save/impl/orbax_async_saves_impl.hpp>
#endif
