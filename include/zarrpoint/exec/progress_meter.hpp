// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/exec/progress.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>

namespace zarrpoint { inline namespace v0 {

/// Counts the bytes of one phase from many threads and tells the callback. Without one it costs
/// nothing. The text of `phase` must outlive it.
class progress_meter {
 public:
  progress_meter(progress_callback callback, std::string_view phase, std::uint64_t total)
      : callback_(std::move(callback)), phase_(phase), total_(total) {}
  progress_meter(const progress_meter&) = delete;
  progress_meter& operator=(const progress_meter&) = delete;

  /// Counts `bytes` more of `item`.
  void add(std::string_view item, std::uint64_t bytes) {
    if (!callback_) return;
    const std::lock_guard lock(mutex_);
    const bool was_complete = done_ >= total_;
    done_ += bytes;
    const bool completes = done_ >= total_ && (!was_complete || !begun_);
    const auto now = std::chrono::steady_clock::now();
    if (begun_ && !completes && done_ - told_ < std::max<std::uint64_t>(total_ / 100, 1) &&
        now - told_at_ < std::chrono::milliseconds(50))
      return;
    begun_ = true;
    told_ = done_;
    told_at_ = now;
    callback_({phase_, item, done_, total_});
  }

 private:
  const progress_callback callback_;
  const std::string_view phase_;
  const std::uint64_t total_;
  std::mutex mutex_;
  std::uint64_t done_ = 0;
  std::uint64_t told_ = 0;
  std::chrono::steady_clock::time_point told_at_{};
  bool begun_ = false;
};

}}  // namespace zarrpoint::v0
