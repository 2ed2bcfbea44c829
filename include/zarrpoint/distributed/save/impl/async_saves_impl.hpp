// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/save/async_saves.hpp>
#include <zarrpoint/distributed/save/group_save_operation.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/pending.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<void> async_saves::schedule(const location& where, const state& tree,
                                                    const group_save_options& options,
                                                    finalizer when_committed) {
  ZARRPOINT_TRY(operation, detail::group_save_operation::begin(where, tree, group_, options, true));
  call one{std::move(operation), {}, ++scheduled_, std::move(when_committed)};
  one.written =
      run_async(group_.how.executor, [self = one.operation.get()] { return self->write(); });
  calls_.push_back(std::move(one));
  return {};
}

ZARRPOINT_INLINE result<group_save_report> async_saves::save(const location& where,
                                                             const state& tree,
                                                             const group_save_options& options) {
  ZARRPOINT_CHECK(schedule(where, tree, options));
  ZARRPOINT_TRY(reports, finalize());
  return std::move(reports.back());
}

ZARRPOINT_INLINE result<std::vector<group_save_report>> async_saves::finalize(bool wait) {
  std::vector<group_save_report> reports;
  result<void> first;
  for (;;) {
    ZARRPOINT_TRY(ready, oldest_is_ready(wait));
    if (!ready) break;
    auto report = calls_.front().operation->finish(calls_.front().written.get());
    const finalizer when_committed = std::move(calls_.front().when_committed);
    calls_.pop_front();
    if (report && when_committed) {
      // Later saves go on, and the other processes with them.
      result<void> done = guarded([&] { return when_committed(*report); });
      if (!done && first) first = std::move(done).failure();
    }
    if (report) {
      reports.push_back(*std::move(report));
    } else if (first) {
      first = std::move(report).failure();
    }
  }
  if (!first) return std::move(first).failure();
  return reports;
}

ZARRPOINT_INLINE result<bool> async_saves::oldest_is_ready(bool wait) const {
  const std::uint64_t mine = calls_.empty() ? 0 : calls_.front().number;
  detail::wire_writer to;
  to.number(mine);
  to.flag(!calls_.empty() && (wait || calls_.front().written.ready()));
  // Of several queues of one group each counts for itself.
  const std::string tree = calls_.empty() ? "" : calls_.front().operation->staged_name();
  to.text(tree);
  ZARRPOINT_TRY(all, all_gather(group_.ranks, std::move(to).take()));
  bool ready = true;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    detail::wire_reader from(all[rank]);
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

}}  // namespace zarrpoint::v0
