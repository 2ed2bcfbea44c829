// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/executor.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/stop.hpp>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace zarrpoint::inline v0 {

/// How a `parallel_for` runs.
struct parallel_options {
  unsigned max_workers = 0;  ///< at most so many at a time, the caller included; 0 for no bound
  stop_token stop{};         ///< asked before each item
};

/// The number of workers of a `parallel_for` over `n` items, the calling thread included: what a
/// caller sizes its per-worker state by. At least 1.
inline unsigned parallel_workers(const any_executor& executor, std::size_t n,
                                 const parallel_options& options = {}) {
  std::size_t workers = std::min<std::size_t>(executor.concurrency(), n);
  if (options.max_workers != 0) workers = std::min<std::size_t>(workers, options.max_workers);
  return static_cast<unsigned>(std::max<std::size_t>(workers, 1));
}

namespace detail {

/// One `parallel_for`. Helpers hold it by a shared pointer, because one that an executor starts
/// late, or never, outlives the call; it then finds the work closed and touches nothing else.
class parallel_work {
 public:
  using body = result<void> (*)(void* context, std::size_t i, unsigned worker);

  parallel_work(std::size_t n, body call, void* context, stop_token stop)
      : n_(n), call_(call), context_(context), stop_(std::move(stop)) {}

  /// Takes items until none is left, one fails, or stop is requested.
  void run(unsigned worker) {
    // Items are claimed in increasing order and a claimed one is always finished. So when item i
    // fails, every item before it is or will be done, and the lowest failure is the same each time.
    while (!ended_.load(std::memory_order_relaxed)) {
      if (stop_.stop_requested()) {
        stopped_.store(true, std::memory_order_relaxed);
        return;
      }
      const std::size_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= n_) return;
      if (result<void> status = guarded([&] { return call_(context_, i, worker); }); !status)
        record(i, std::move(status).failure());
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
  result<void> finish() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    left_.wait(lock, [this] { return helping_ == 0; });
    if (failure_) return *std::move(failure_);
    if (stopped_.load(std::memory_order_relaxed) && next_.load(std::memory_order_relaxed) < n_)
      return error{errc::cancelled, "stop was requested"};
    return {};
  }

 private:
  void record(std::size_t i, error failure) {
    ended_.store(true, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    if (failure_ && failed_at_ < i) return;
    failed_at_ = i;
    failure_ = std::move(failure);
  }

  const std::size_t n_;
  const body call_;
  void* const context_;
  const stop_token stop_;
  std::atomic<std::size_t> next_{0};  // at most n_ + workers: does not wrap
  std::atomic<bool> ended_{false};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::condition_variable left_;
  unsigned helping_ = 0;
  bool closed_ = false;
  std::size_t failed_at_ = 0;
  std::optional<error> failure_;
};

inline result<void> run_parallel(const any_executor& executor, std::shared_ptr<parallel_work> work,
                                 unsigned workers) {
  for (unsigned worker = 1; worker < workers; ++worker) {
    // An executor that refuses is no failure: the caller does the work.
    const result<void> asked = guarded([&]() -> result<void> {
      executor.execute([work, worker] { work->help(worker); });
      return {};
    });
    if (!asked) break;
  }
  work->run(0);
  return work->finish();
}

}  // namespace detail

/// Calls `f(i)` or `f(i, worker)`, which return `result<void>`, for every `i < n`, and returns when
/// all are done. The calling thread takes part as worker 0; `worker` is below
/// `parallel_workers(executor, n, options)` and no two calls at a time have the same one.
///
/// After a failure no further items are begun, and the error is that of the lowest failing `i`:
/// the same in every run. Stopped early: `cancelled`. An exception from `f` becomes an error.
/// It may be nested on one executor, also from within its tasks.
template <class F>
result<void> parallel_for(const any_executor& executor, std::size_t n, F&& f,
                          const parallel_options& options = {}) {
  using callable = std::remove_reference_t<F>;
  static_assert(std::is_invocable_r_v<result<void>, callable&, std::size_t> ||
                    std::is_invocable_r_v<result<void>, callable&, std::size_t, unsigned>,
                "parallel_for calls f(i) or f(i, worker), which returns result<void>");
  const auto call = [](void* context, std::size_t i, unsigned worker) -> result<void> {
    callable& body = *static_cast<callable*>(context);
    if constexpr (std::is_invocable_v<callable&, std::size_t, unsigned>) {
      return body(i, worker);
    } else {
      return body(i);
    }
  };
  void* const context = const_cast<void*>(static_cast<const volatile void*>(std::addressof(f)));
  const unsigned workers = parallel_workers(executor, n, options);
  if (workers == 1) {
    detail::parallel_work work(n, call, context, options.stop);
    work.run(0);
    return work.finish();
  }
  return detail::run_parallel(
      executor, std::make_shared<detail::parallel_work>(n, call, context, options.stop), workers);
}

}  // namespace zarrpoint::inline v0
