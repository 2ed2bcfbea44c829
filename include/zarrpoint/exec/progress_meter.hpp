// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/exec/progress.hpp>

#include <chrono>
#include <mutex>

namespace zarrpoint { inline namespace v0 {

/// Counts the bytes of one phase from many threads and tells the callback. Without one it costs
/// nothing. The text of `phase` must outlive it.
class progress_meter {
 public:
  /// `callback` outlives it. It may be null, and so may `observer`, which is kept for those that
  /// count.
  progress_meter(const progress_callback* callback, std::string_view phase, std::uint64_t total,
                 phase_observer* observer = nullptr)
      : callback_(callback), phase_(phase), total_(total), observer_(observer) {}
  progress_meter(const progress_meter&) = delete;
  progress_meter& operator=(const progress_meter&) = delete;

  /// Counts `bytes` more of `item`.
  void add(std::string_view item, std::uint64_t bytes) {
    if (callback_ != nullptr && *callback_) callback_->calls_->count(*this, item, bytes);
  }
  phase_observer* observer() const noexcept { return observer_; }

 private:
  friend void detail::count_progress(progress_meter& of, std::string_view item,
                                     std::uint64_t bytes);

  const progress_callback* const callback_;
  const std::string_view phase_;
  const std::uint64_t total_;
  phase_observer* const observer_;
  std::mutex mutex_;
  std::uint64_t done_ = 0;
  std::uint64_t told_ = 0;
  std::chrono::steady_clock::time_point told_at_{};
  bool begun_ = false;
};

}}  // namespace zarrpoint::v0
