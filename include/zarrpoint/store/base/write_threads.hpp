// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/store/base/write_behind.hpp>

#include <sys/types.h>

#include <condition_variable>
#include <memory>
#include <mutex>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Threads that wait for the disk, so that those that encode do not. They start once there is
/// enough to write.
class write_threads {
 public:
  /// As many writes are under way at once, and by as many threads.
  static constexpr unsigned lanes = 4;

  /// What `publish_options::write_behind` takes. In a child of `fork` nobody writes behind, and
  /// what was under way has failed.
  static write_behind make();

  write_threads() = default;
  write_threads(const write_threads&) = delete;
  write_threads& operator=(const write_threads&) = delete;
  ~write_threads();  ///< in the process that has the threads

  bool post(const write_behind::job& work, pending_writes& in) noexcept;
  void settle(pending_writes& in) noexcept;

 private:
  static constexpr unsigned few = 4;

  struct posted {
    write_behind::job work;
    pending_writes* in;
  };

  /// In a child of `fork` nothing of the threads may be touched, as in `thread_pool`.
  bool is_forked() const noexcept;
  static void end(write_threads* self) noexcept;
  bool start() noexcept;
  void serve() noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;  ///< there is something to write, or nothing will come
  std::condition_variable written_;
  unsigned seen_ = 0;
  unsigned busy_ = 0;     ///< threads that write, and jobs that wait for theirs
  unsigned waiting_ = 0;  ///< the first so many of `jobs_`
  posted jobs_[lanes] = {};
  bool closed_ = false;
  std::atomic<::pid_t> process_{0};  ///< which has the threads: not its children; 0: nobody yet
  write_threads* kept_before_ = nullptr;
  std::unique_ptr<thread_pool> pool_;
};

}}}  // namespace zarrpoint::v0::detail
