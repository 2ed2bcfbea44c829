// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/exec/executor.hpp>

namespace zarrpoint { inline namespace v0 {

/// Owns threads that run tasks in the order in which they were handed over, and help those that ask
/// for it (`parallel_for`) when there are none. The destructor runs what is queued and joins; it
/// must not be called from one of the pool's own tasks. Executors may outlive the pool: they then
/// run tasks on the calling thread, and help nobody. So they do in a child of `fork`, which has no
/// threads but the one that forked; what was queued stays with the parent.
class thread_pool {
  struct state;

 public:
  /// The copyable handle.
  class executor_type {
   public:
    void execute(task work) const;
    /// See `any_executor`: all threads but one help at a time, and one more for each caller that
    /// rests, so that with the caller as many work as there are threads.
    void help(task work) const;
    void rest(bool begins) const;
    unsigned concurrency() const noexcept;

   private:
    friend class thread_pool;
    explicit executor_type(std::shared_ptr<state> shared) : state_(std::move(shared)) {}
    std::shared_ptr<state> state_;
  };

  /// Starts `threads` threads, or one per processor for 0. Where the system refuses some of them,
  /// the pool does with fewer, and with none runs tasks on the calling thread.
  explicit thread_pool(unsigned threads = 0);
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;
  ~thread_pool();

  executor_type executor() const { return executor_type(state_); }

 private:
  bool start();

  std::shared_ptr<state> state_;
};
static_assert(executor<thread_pool::executor_type>);

}}  // namespace zarrpoint::v0
