// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/exec/executor.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/pending.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The oldest save of a queue, as one process has it.
struct oldest_save {
  std::uint64_t number = 0;  ///< 0: it has none
  bool is_ready = false;
  std::string tree{};  ///< that all write to; of several queues of one group each has its own
};

/// Collective: whether every process is ready to commit it. Errors: `invalid_argument` where
/// processes do not mean the same one.
result<bool> are_ready(const any_communicator& ranks, const oldest_save& mine);

/// `"finalize, after 2 saves were committed"`.
std::string after_commits(std::size_t saves);

/// Saves of many processes in the background, in order, whatever layout they write. Between what
/// begins an `Operation` and `Operation::finish(receipt)`, both collective, a task of the executor
/// calls `Operation::write()`, which is not.
template <class Operation, class Report>
class save_queue {
 public:
  using finalizer = std::function<result<void>(const Report&)>;

  save_queue(any_communicator ranks, any_executor executor)
      : ranks_(std::move(ranks)), executor_(std::move(executor)) {}

  std::size_t size() const noexcept { return calls_.size(); }

  void add(std::shared_ptr<Operation> begun, finalizer when_committed) {
    call one{std::move(begun), {}, ++scheduled_, std::move(when_committed)};
    one.written = run_async(executor_, [self = one.operation.get()] { return self->write(); });
    calls_.push_back(std::move(one));
  }

  result<std::vector<Report>> finalize(bool wait) {
    std::vector<Report> reports;
    result<void> first;
    for (;;) {
      auto ready = are_ready(ranks_, oldest(wait));
      // What became of the saves before counts: who hears of a process that is gone must not take
      // that for the failure of another save.
      if (!ready && !first) return std::move(first).failure();
      if (!ready) return std::move(ready).failure().at(after_commits(reports.size()));
      if (!*ready) break;
      auto report = calls_.front().operation->finish(calls_.front().written.get());
      const finalizer when_committed = std::move(calls_.front().when_committed);
      calls_.erase(calls_.begin());
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

 private:
  struct call {
    std::shared_ptr<Operation> operation;
    pending<message> written;  // destroyed before the operation: it waits
    std::uint64_t number = 0;
    finalizer when_committed{};
  };

  oldest_save oldest(bool wait) const {
    if (calls_.empty()) return {};
    const call& one = calls_.front();
    return {one.number, wait || one.written.ready(), one.operation->staged_name()};
  }

  any_communicator ranks_;
  any_executor executor_;
  std::vector<call> calls_;  // few: <deque> has 1,700 lines
  std::uint64_t scheduled_ = 0;
};

}}}  // namespace zarrpoint::v0::detail
