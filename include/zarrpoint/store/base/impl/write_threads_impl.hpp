// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/write_threads.hpp>

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE write_behind write_threads::make() {
  static constexpr write_behind::operations by{
      [](void* self, const write_behind::job& work, pending_writes& in) noexcept {
        return static_cast<write_threads*>(self)->post(work, in);
      },
      [](void* self, pending_writes& in) noexcept {
        static_cast<write_threads*>(self)->settle(in);
      },
      [](void* self) noexcept { end(static_cast<write_threads*>(self)); }};
  return {by, new write_threads};
}

ZARRPOINT_INLINE bool write_threads::is_forked() const noexcept {
  const ::pid_t process = process_.load();
  return process != 0 && process != ::getpid();
}

ZARRPOINT_INLINE void write_threads::end(write_threads* self) noexcept {
  if (!self->is_forked()) {
    delete self;
    return;
  }
  static std::atomic<write_threads*> kept = nullptr;  // where a leak checker finds them
  self->kept_before_ = kept.exchange(self);
}

ZARRPOINT_INLINE write_threads::~write_threads() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  pool_.reset();
}

ZARRPOINT_INLINE bool write_threads::post(const write_behind::job& work,
                                          pending_writes& in) noexcept {
  if (is_forked()) return false;
  const std::lock_guard lock(mutex_);
  if (seen_ < few) return ++seen_, false;
  if (process_ == 0 && !start()) return seen_ = 0, false;
  if (busy_ == lanes) return false;
  ++busy_;
  ++in.count;
  jobs_[waiting_++] = {work, &in};
  changed_.notify_one();
  return true;
}

ZARRPOINT_INLINE void write_threads::settle(pending_writes& in) noexcept {
  if (is_forked()) {
    if (in.count != 0) in.code = EIO;
    return;
  }
  std::unique_lock lock(mutex_);
  while (in.count != 0) written_.wait(lock);
}

/// False where the system has no threads for it.
ZARRPOINT_INLINE bool write_threads::start() noexcept {
  unsigned serving = 0;
#if ZARRPOINT_EXCEPTIONS
  try {
#endif
    pool_ = std::make_unique<thread_pool>(lanes);
    const auto threads = pool_->executor();
    if (threads.concurrency() < 2) return pool_.reset(), false;  // that may be none
    for (; serving < lanes; ++serving) threads.execute([this] { serve(); });
#if ZARRPOINT_EXCEPTIONS
  } catch (...) {
    if (serving == 0) return pool_.reset(), false;
  }
#endif
  process_ = ::getpid();
  return true;
}

ZARRPOINT_INLINE void write_threads::serve() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (waiting_ == 0 && !closed_) changed_.wait(lock);
    if (waiting_ == 0) return;
    const posted one = jobs_[0];
    for (unsigned i = 1; i < waiting_; ++i) jobs_[i - 1] = jobs_[i];
    --waiting_;
    lock.unlock();
    const int code = one.work.write(one.work);
    lock.lock();
    int none = 0;
    if (code != 0) one.in->code.compare_exchange_strong(none, code);
    --busy_;
    if (--one.in->count == 0) written_.notify_all();
  }
}

}}}  // namespace zarrpoint::v0::detail
