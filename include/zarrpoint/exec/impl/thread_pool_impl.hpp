// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/exec/executor.hpp>
#include <zarrpoint/exec/thread_pool.hpp>

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

struct thread_pool::state {
  std::mutex mutex;
  std::condition_variable changed;
  std::list<task> queue;
  std::list<task> helpers;  // of callers that work too
  unsigned threads = 1;     // constant once the pool is made
  unsigned alive = 0;       // threads that will look at the queues again
  unsigned helping = 0;     // of them, those that help a caller
  unsigned resting = 0;     // callers that wait for those
  bool closed = false;
  std::vector<std::thread> running;  // the pool's own, not its executors'
  const ::pid_t process = ::getpid();
  // These keep a state that must never be destroyed.
  std::shared_ptr<state> self;
  state* kept_before = nullptr;

  // A child of fork has none of the threads. Nothing of them may be touched there: one may have
  // held the lock, and a condition variable waits for those it woke.
  bool is_forked() const noexcept { return ::getpid() != process; }

  void push(task work) {
    if (is_forked()) return work();
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

  void push_helper(task work) {
    if (is_forked()) return;
    const std::lock_guard lock(mutex);
    if (alive == 0) return;
    helpers.push_back(std::move(work));
    if (may_help()) changed.notify_one();
  }

  void rest(bool begins) {
    if (is_forked()) return;
    const std::lock_guard lock(mutex);
    resting += begins ? 1U : -1U;
    if (may_help()) changed.notify_one();
  }

  bool may_help() const noexcept { return !helpers.empty() && helping + 1 < alive + resting; }

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return closed || !queue.empty() || may_help(); });
      const bool helps = queue.empty();
      std::list<task>& from = helps ? helpers : queue;
      if (from.empty()) break;
      helping += helps ? 1U : 0U;
      {
        task work = std::move(from.front());
        from.pop_front();
        if (may_help()) changed.notify_one();  // one that helped before may do this instead
        lock.unlock();
        work();
      }  // what the task held goes before the lock is taken again
      lock.lock();
      helping -= helps ? 1U : 0U;
    }
    --alive;
  }
};

ZARRPOINT_INLINE void thread_pool::executor_type::execute(task work) const {
  state_->push(std::move(work));
}

ZARRPOINT_INLINE void thread_pool::executor_type::help(task work) const {
  state_->push_helper(std::move(work));
}

ZARRPOINT_INLINE void thread_pool::executor_type::rest(bool begins) const { state_->rest(begins); }

ZARRPOINT_INLINE unsigned thread_pool::executor_type::concurrency() const noexcept {
  return state_->is_forked() ? 1 : state_->threads;
}

ZARRPOINT_INLINE thread_pool::thread_pool(unsigned threads)
    : state_(detail::make_counted<state>()) {
  if (threads == 0) threads = hardware_concurrency();
  state_->running.reserve(threads);
  while (state_->running.size() < threads && start()) {
  }
  state_->threads = state_->running.empty() ? 1 : static_cast<unsigned>(state_->running.size());
}

ZARRPOINT_INLINE thread_pool::~thread_pool() {
  if (state_->is_forked()) {
    // Threads that are not there can be neither joined nor detached: their handles stay for ever,
    // where a leak checker finds them.
    static std::atomic<state*> kept = nullptr;
    state_->self = state_;
    state_->kept_before = kept.exchange(state_.get());
    return;
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->closed = true;
  }
  state_->changed.notify_all();
  for (std::thread& thread : state_->running) thread.join();
  state_->running.clear();
}

ZARRPOINT_INLINE bool thread_pool::start() {
  // Counted before it runs, so that no task is ever handed to a pool whose last thread is gone.
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->alive;
  }
#if ZARRPOINT_EXCEPTIONS
  try {
#endif
    state_->running.emplace_back([shared = state_] { shared->run(); });
    return true;
#if ZARRPOINT_EXCEPTIONS
  } catch (...) {
    const std::lock_guard lock(state_->mutex);
    --state_->alive;
    return false;
  }
#endif
}

}}  // namespace zarrpoint::v0
