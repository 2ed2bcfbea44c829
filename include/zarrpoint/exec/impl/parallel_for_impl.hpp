// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/executor.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/stop.hpp>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE unsigned parallel_workers(const any_executor& executor, std::size_t n,
                                           const parallel_options& options) {
  std::size_t workers = n;
  if (options.max_workers != 0) workers = std::min<std::size_t>(workers, options.max_workers);
  // What one does alone asks no executor: a pool of threads needs a system call to answer.
  if (workers > 1) workers = std::min<std::size_t>(workers, executor.concurrency());
  return static_cast<unsigned>(std::max<std::size_t>(workers, 1));
}

namespace detail {

/// One `parallel_for`. Helpers hold it by a shared pointer, because one that an executor starts
/// late, or never, outlives the call; it then finds the work closed and touches nothing else.
class parallel_work {
 public:
  parallel_work(std::size_t n, parallel_body body, unsigned workers,
                const parallel_options& options)
      : n_(n),
        body_(body),
        workers_(workers),
        grain_(std::max<std::size_t>(options.grain, 1)),
        stop_(options.stop) {}

  /// Takes items until none is left, one fails, or stop is requested.
  void run(unsigned worker) {
    std::size_t first = 0;
    while (const std::size_t count = claim(first)) {
      if (!run_row(first, first + count, worker)) return;
    }
  }

  /// What an executor runs: nothing when the caller has already left.
  void help(unsigned worker) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return;
      ++helping_;
    }
    run(worker);
    const std::lock_guard lock(mutex_);
    if (--helping_ == 0) left_.notify_all();
  }

  /// Waits for the helpers that began, and only for them: so a call nested in a task of the same
  /// pool never waits for a thread that waits for it.
  result<void> finish(const any_executor& executor) {
    std::unique_lock lock(mutex_);
    closed_ = true;
    if (helping_ != 0) {
      lock.unlock();
      executor.rest(true);
      lock.lock();
      left_.wait(lock, [this] { return helping_ == 0; });
      executor.rest(false);
    }
    if (failure_) return *std::move(failure_);
    if (cut_.load(std::memory_order_relaxed) ||
        (stopped_.load(std::memory_order_relaxed) && next_.load(std::memory_order_relaxed) < n_))
      return error{errc::cancelled, "stop was requested"};
    return {};
  }

 private:
  /// How many items are taken now, from `first` on; none after a failure or a stop. They are
  /// claimed in increasing order, and those below a failure are always finished. So when item i
  /// fails, every item before it is or will be done, and the lowest failure is the same each time.
  std::size_t claim(std::size_t& first) {
    if (stop_.stop_requested()) {
      stopped_.store(true, std::memory_order_relaxed);
      return 0;
    }
    first = next_.load(std::memory_order_relaxed);
    std::size_t count = 0;
    do {
      if (first == n_ || failed_at_.load(std::memory_order_relaxed) != none) return 0;
      count = std::clamp<std::size_t>((n_ - first) / workers_, 1, grain_);
    } while (!next_.compare_exchange_weak(first, first + count, std::memory_order_relaxed));
    return count;
  }

  /// Whether to go on. The first is done whatever happens: where rows have one item, an item that
  /// is claimed is always finished, and others may wait for it.
  bool run_row(std::size_t i, std::size_t end, unsigned worker) {
    while (true) {
      result<void> status = guarded([&] { return body_.call(body_.context, i, worker); });
      if (!status) {
        record(i, std::move(status).failure());
        return false;
      }
      if (++i == end) return true;
      if (i > failed_at_.load(std::memory_order_relaxed)) return false;
      if (stop_.stop_requested()) {
        cut_.store(true, std::memory_order_relaxed);
        return false;
      }
    }
  }

  void record(std::size_t i, error failure) {
    const std::lock_guard lock(mutex_);
    if (failed_at_.load(std::memory_order_relaxed) < i) return;
    failed_at_.store(i, std::memory_order_relaxed);
    failure_ = std::move(failure);
  }

  static constexpr std::size_t none = SIZE_MAX;

  const std::size_t n_;
  const parallel_body body_;
  const std::size_t workers_;
  const std::size_t grain_;
  const stop_token stop_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> failed_at_{none};  // the lowest
  std::atomic<bool> stopped_{false};
  std::atomic<bool> cut_{false};  // items that were claimed are left, by a stop
  std::mutex mutex_;
  std::condition_variable left_;
  unsigned helping_ = 0;
  bool closed_ = false;
  std::optional<error> failure_;
};

ZARRPOINT_INLINE result<void> run_parallel(const any_executor& executor, std::size_t n,
                                           parallel_body body, const parallel_options& options) {
  const unsigned workers = parallel_workers(executor, n, options);
  if (workers == 1) {
    parallel_work alone(n, body, 1, options);
    alone.run(0);
    return alone.finish(executor);
  }
  const auto work = detail::make_counted<parallel_work>(n, body, workers, options);
  for (unsigned worker = 1; worker < workers; ++worker) {
    // An executor that refuses is not a failure: the caller does the work.
    const result<void> asked = guarded([&]() -> result<void> {
      executor.help([work, worker] { work->help(worker); });
      return {};
    });
    if (!asked) break;
  }
  work->run(0);
  return work->finish(executor);
}

}  // namespace detail

}}  // namespace zarrpoint::v0
