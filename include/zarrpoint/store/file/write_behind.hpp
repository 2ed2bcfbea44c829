// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/exec/thread_pool.hpp>

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace zarrpoint { inline namespace v0 { namespace detail {

class direct_writes;

/// What O_DIRECT wants of memory: enough for every device with blocks of up to 4 KiB.
inline constexpr std::size_t direct_alignment = 4096;
/// Where in a file direct and buffered writes may meet: no page of any kernel sees both.
inline constexpr std::size_t direct_boundary = 65536;

/// Aligned blocks through which data that is not aligned goes to the disk; kept for the next write.
/// There are as many as writes at once, and no budget counts them: see docs/stores.md.
class staging_blocks {
 public:
  /// A chunk of 1 MiB, and what waits for it at either end.
  static constexpr std::size_t block_size = (std::size_t{1} << 20) + 2 * direct_boundary;

  staging_blocks() = default;
  staging_blocks(const staging_blocks&) = delete;
  staging_blocks& operator=(const staging_blocks&) = delete;
  ~staging_blocks();

  /// A block of the caller's own until `give`; null when memory is exhausted.
  std::byte* take() noexcept;
  void give(std::byte* block) noexcept;

 private:
  std::byte* pop() noexcept;

  std::mutex mutex_;
  std::byte* free_ = nullptr;  ///< the first; each begins with the address of the next
};

/// Threads that write staged blocks of one store, so that those that encode go on meanwhile. They
/// start once there is enough to write.
class write_behind {
 public:
  /// As many blocks are written at once, and by as many threads.
  static constexpr unsigned lanes = 4;

  struct job {
    void (*write)(const job&) noexcept;
    direct_writes* writer;
    std::uint64_t offset;
    std::byte* block;  ///< of `blocks()`, for the thread to give back
    std::size_t size;
  };

  write_behind() = default;
  write_behind(const write_behind&) = delete;
  write_behind& operator=(const write_behind&) = delete;
  ~write_behind();

  staging_blocks& blocks() noexcept { return blocks_; }

  /// Has a thread call `work.write(work)`. False when none is free: the caller does it.
  bool post(const job& work);

 private:
  static constexpr unsigned few = 4;

  bool start();
  void serve() noexcept;

  staging_blocks blocks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned seen_ = 0;
  unsigned busy_ = 0;     ///< threads that write, and jobs that wait for theirs
  unsigned waiting_ = 0;  ///< the first so many of `jobs_`
  job jobs_[lanes] = {};
  bool closed_ = false;
  ::pid_t process_ = 0;  ///< which has the threads: not its children; 0: nobody yet
  std::unique_ptr<thread_pool> pool_;
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/store/file/impl/write_behind_impl.hpp>
#endif
