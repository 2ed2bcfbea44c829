// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/distributed/save/save_queue.hpp>

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {
class strategy_format;
template <class Format>
class collective_save;
}  // namespace detail

/// Saves that go on in the background, in order: `schedule` returns when everything is staged, the
/// executor of the group's context writes, and `finalize` commits what is written. Both are
/// collective, since a commit needs all processes: call them in the same order everywhere.
///
/// A queue that is destroyed waits for its own writes and commits nothing; what rank 0 staged is
/// removed.
class async_saves {
 public:
  explicit async_saves(process_group group)
      : group_(std::move(group)), queue_(group_.ranks, group_.how.executor) {}

  /// What a process does when a save is committed, such as to note its iteration or to remove an
  /// older one.
  using finalizer = std::function<result<void>(const group_save_report&)>;

  /// Plans and stages a save, and has it written. The tensors may be changed afterwards.
  /// `when_committed` is called by `finalize` on this process, once, if all processes know that the
  /// checkpoint is there; the others may have another one, or none. Errors: those of `save` up to
  /// there, the same on all processes.
  result<void> schedule(const location& where, const state& tree,
                        const group_save_options& options = {}, finalizer when_committed = {});

  /// A save like those in the background, which is complete on return, after all that were
  /// scheduled before. Errors: its own, and those of `finalize`.
  result<group_save_report> save(const location& where, const state& tree,
                                 const group_save_options& options = {});

  /// Commits the saves that are complete on all processes, oldest first, or with `wait` all of
  /// them. What a process did not get written is an error on all, and the checkpoint that was there
  /// before stays; later saves go on. Errors: the first of the failures, after all were finalized;
  /// `invalid_argument` where processes have scheduled different numbers of saves; that of a
  /// `when_committed`, on its process alone: the checkpoint stays.
  result<std::vector<group_save_report>> finalize(bool wait = true);

  /// How many saves are scheduled and not yet finalized.
  std::size_t unfinalized() const noexcept { return queue_.size(); }

 private:
  process_group group_;
  detail::save_queue<detail::collective_save<detail::strategy_format>, group_save_report> queue_;
};

}}  // namespace zarrpoint::v0
