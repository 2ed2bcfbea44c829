// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/exec/executor.hpp>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

/// Owns threads that run tasks in the order in which they were handed over. The destructor runs
/// what is queued and joins; it must not be called from one of the pool's own tasks. Executors may
/// outlive the pool: they then run tasks on the calling thread.
class thread_pool {
  struct state;

 public:
  /// The copyable handle.
  class executor_type {
   public:
    void execute(task work) const { state_->push(std::move(work)); }
    unsigned concurrency() const noexcept { return state_->threads; }

   private:
    friend class thread_pool;
    explicit executor_type(std::shared_ptr<state> shared) : state_(std::move(shared)) {}
    std::shared_ptr<state> state_;
  };

  /// Starts `threads` threads, or one per processor for 0. Where the system refuses some of them,
  /// the pool does with fewer, and with none runs tasks on the calling thread.
  explicit thread_pool(unsigned threads = 0) : state_(std::make_shared<state>()) {
    if (threads == 0) threads = hardware_concurrency();
    threads_.reserve(threads);
    while (threads_.size() < threads && start()) {
    }
    state_->threads = threads_.empty() ? 1 : static_cast<unsigned>(threads_.size());
  }
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;
  ~thread_pool() {
    {
      const std::lock_guard lock(state_->mutex);
      state_->closed = true;
    }
    state_->changed.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  executor_type executor() const { return executor_type(state_); }

 private:
  struct state {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<task> queue;
    unsigned threads = 1;  // constant once the pool is made
    unsigned alive = 0;    // threads that will look at the queue again
    bool closed = false;

    void push(task work) {
      {
        const std::lock_guard lock(mutex);
        if (alive != 0) {
          queue.push_back(std::move(work));
          changed.notify_one();
          return;
        }
      }
      work();
    }

    void run() {
      std::unique_lock lock(mutex);
      for (;;) {
        changed.wait(lock, [this] { return closed || !queue.empty(); });
        if (queue.empty()) break;
        {
          task work = std::move(queue.front());
          queue.pop_front();
          lock.unlock();
          work();
        }  // what the task held goes before the lock is taken again
        lock.lock();
      }
      --alive;
    }
  };

  bool start() {
    // Counted before it runs, so that no task is ever handed to a pool whose last thread is gone.
    {
      const std::lock_guard lock(state_->mutex);
      ++state_->alive;
    }
#if ZARRPOINT_EXCEPTIONS
    try {
#endif
      threads_.emplace_back([shared = state_] { shared->run(); });
      return true;
#if ZARRPOINT_EXCEPTIONS
    } catch (...) {
      const std::lock_guard lock(state_->mutex);
      --state_->alive;
      return false;
    }
#endif
  }

  std::shared_ptr<state> state_;
  std::vector<std::thread> threads_;
};
static_assert(executor<thread_pool::executor_type>);

}  // namespace zarrpoint::inline v0
