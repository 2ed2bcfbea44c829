// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/distributed/save/save_queue.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// What saves in the background have in common, whatever they are given.
class background_saves {
 public:
  /// What a process does when a save is committed, such as to note its iteration or to remove an
  /// older one.
  using finalizer = std::function<result<void>(const save_report&)>;

  /// Commits the saves that are complete on all processes, oldest first, or with `wait` all of
  /// them. What a process did not get written is an error on all, and the checkpoint that was there
  /// before stays; later saves go on. `save_report::blocked_seconds` are those of `schedule`.
  /// Errors: the first of the failures, after all were finalized; `invalid_argument` where
  /// processes have scheduled different numbers of saves; that of a `when_committed`, on its
  /// process alone: the checkpoint stays.
  result<std::vector<save_report>> finalize(bool wait = true) { return queue_.finalize(wait); }

  /// How many saves are scheduled and not yet finalized.
  std::size_t unfinalized() const noexcept { return queue_.size(); }

 protected:
  background_saves(const any_communicator& ranks, any_executor executor)
      : queue_(ranks, std::move(executor)) {}

  result<void> begin(result<std::shared_ptr<collective_save>> made, const any_communicator& ranks,
                     finalizer when_committed);

 private:
  save_queue<collective_save, save_report> queue_;
};

}  // namespace detail

/// Saves that go on in the background, in order: `schedule` returns when everything is staged, the
/// executor of the group's context writes, and `finalize` commits what is written. Both are
/// collective, since a commit needs all processes: call them in the same order everywhere.
///
/// A queue that is destroyed waits for its own writes and commits nothing; what rank 0 staged is
/// removed.
class async_saves : public detail::background_saves {
 public:
  explicit async_saves(process_group group)
      : background_saves(group.ranks, group.how.executor), group_(std::move(group)) {}

  /// Plans and stages a save, and has it written. The tensors may be changed afterwards.
  /// `when_committed` is called by `finalize` on this process, once, if all processes know that the
  /// checkpoint is there; the others may have another one, or none. Errors: those of `save` up to
  /// there, the same on all processes.
  result<void> schedule(const location& where, const state& tree,
                        const group_save_options& options = {}, finalizer when_committed = {});

  /// A save like those in the background, which is complete on return, after all that were
  /// scheduled before. Errors: its own, and those of `finalize`.
  result<save_report> save(const location& where, const state& tree,
                           const group_save_options& options = {});

 private:
  process_group group_;
};

}}  // namespace zarrpoint::v0
