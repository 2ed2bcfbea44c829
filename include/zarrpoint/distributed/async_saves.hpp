// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/collectives.hpp>
#include <zarrpoint/distributed/group_save.hpp>
#include <zarrpoint/exec/pending.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

/// Saves that go on in the background, in order: `schedule` returns when everything is staged, the
/// executor of the group's context writes, and `finalize` commits what is written. Both are
/// collective, since a commit needs all processes: call them in the same order everywhere.
///
/// A queue that is destroyed waits for its own writes and commits nothing; what rank 0 staged is
/// removed.
class async_saves {
 public:
  explicit async_saves(process_group group) : group_(std::move(group)) {}

  /// Plans and stages a save, and has it written. The tensors may be changed afterwards. Errors:
  /// those of `save` up to there, the same on all processes.
  template <class = void>
  result<void> schedule(const location& where, const state& tree,
                        const group_save_options& options = {}) {
    ZARRPOINT_TRY(operation,
                  detail::group_save_operation<>::begin(where, tree, group_, options, true));
    call one{std::move(operation), {}, ++scheduled_};
    one.written =
        run_async(group_.how.executor, [self = one.operation.get()] { return self->write(); });
    calls_.push_back(std::move(one));
    return {};
  }

  /// A save like those in the background, which is complete on return, after all that were
  /// scheduled before. Errors: its own, and those of `finalize`.
  template <class = void>
  result<group_save_report> save(const location& where, const state& tree,
                                 const group_save_options& options = {}) {
    ZARRPOINT_CHECK(schedule(where, tree, options));
    ZARRPOINT_TRY(reports, finalize());
    return std::move(reports.back());
  }

  /// Commits the saves that are complete on all processes, oldest first, or with `wait` all of
  /// them. What a process did not get written is an error on all, and the checkpoint that was there
  /// before stays; later saves go on. Errors: the first of the failures, after all were finalized;
  /// `invalid_argument` where processes have scheduled different numbers of saves.
  template <class = void>
  result<std::vector<group_save_report>> finalize(bool wait = true) {
    std::vector<group_save_report> reports;
    result<void> first;
    for (;;) {
      ZARRPOINT_TRY(ready, oldest_is_ready(wait));
      if (!ready) break;
      auto report = calls_.front().operation->finish(calls_.front().written.get());
      calls_.pop_front();
      if (report) {
        reports.push_back(*std::move(report));
      } else if (first) {
        first = std::move(report).failure();
      }
    }
    if (!first) return std::move(first).failure();
    return reports;
  }

  /// How many saves are scheduled and not yet finalized.
  std::size_t unfinalized() const noexcept { return calls_.size(); }

 private:
  struct call {
    std::unique_ptr<detail::group_save_operation<>> operation;
    pending<message> written;  // destroyed before the operation: it waits
    std::uint64_t number = 0;
  };

  /// Whether every process is ready to commit the oldest save; all must mean the same one, or have
  /// none.
  template <class = void>
  result<bool> oldest_is_ready(bool wait) const {
    const std::uint64_t mine = calls_.empty() ? 0 : calls_.front().number;
    wire_writer to;
    to.number(mine);
    to.flag(!calls_.empty() && (wait || calls_.front().written.ready()));
    // Of several queues of one group each counts for itself.
    const std::string tree = calls_.empty() ? "" : calls_.front().operation->staged_name();
    to.text(tree);
    ZARRPOINT_TRY(all, all_gather(group_.ranks, std::move(to).take()));
    bool ready = true;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      wire_reader from(all[rank]);
      const std::uint64_t theirs = from.number();
      ready = from.flag() && ready;
      const std::string its_tree = from.text();
      ZARRPOINT_CHECK(from.finish());
      if (theirs != mine || its_tree != tree)
        return error{errc::invalid_argument, "Unmatched async calls: rank " + std::to_string(rank) +
                                                 " finalizes save " + std::to_string(theirs) +
                                                 ", this process save " + std::to_string(mine) +
                                                 " (0: none)"};
    }
    return ready;
  }

  process_group group_;
  std::deque<call> calls_;
  std::uint64_t scheduled_ = 0;
};

}  // namespace zarrpoint::inline v0
