// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/file/write_behind.hpp>

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE staging_blocks::~staging_blocks() {
  while (free_ != nullptr) std::free(pop());
}

ZARRPOINT_INLINE std::byte* staging_blocks::take() noexcept {
  const std::lock_guard lock(mutex_);
  if (free_ != nullptr) return pop();
  return static_cast<std::byte*>(std::aligned_alloc(direct_alignment, block_size));
}

ZARRPOINT_INLINE void staging_blocks::give(std::byte* block) noexcept {
  const std::lock_guard lock(mutex_);
  std::memcpy(block, &free_, sizeof free_);
  free_ = block;
}

ZARRPOINT_INLINE std::byte* staging_blocks::pop() noexcept {
  std::byte* const block = free_;
  std::memcpy(&free_, block, sizeof free_);
  return block;
}

ZARRPOINT_INLINE write_behind::~write_behind() {
  if (process_ != ::getpid()) return;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  pool_.reset();
}

ZARRPOINT_INLINE bool write_behind::post(const job& work) {
  const std::lock_guard lock(mutex_);
  if (seen_ < few) return ++seen_, false;
  if (process_ == 0 && !start()) return seen_ = 0, false;
  if (busy_ == lanes || process_ != ::getpid()) return false;
  ++busy_;
  jobs_[waiting_++] = work;
  changed_.notify_one();
  return true;
}

/// False where the system has no threads for it.
ZARRPOINT_INLINE bool write_behind::start() {
  pool_ = std::make_unique<thread_pool>(lanes);
  const auto threads = pool_->executor();
  if (threads.concurrency() < 2) return pool_.reset(), false;  // that may be none
  process_ = ::getpid();
  for (unsigned i = 0; i < lanes; ++i) threads.execute([this] { serve(); });
  return true;
}

ZARRPOINT_INLINE void write_behind::serve() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (waiting_ == 0 && !closed_) changed_.wait(lock);
    if (waiting_ == 0) return;
    const job work = jobs_[--waiting_];
    lock.unlock();
    work.write(work);
    lock.lock();
    --busy_;
  }
}

}}}  // namespace zarrpoint::v0::detail
