// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/byte_limiter.hpp>
#include <zarrpoint/exec/stop.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE byte_limiter::reservation::reservation(reservation&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

ZARRPOINT_INLINE byte_limiter::reservation& byte_limiter::reservation::operator=(
    reservation&& other) noexcept {
  if (this != &other) {
    release();
    owner_ = std::exchange(other.owner_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

ZARRPOINT_INLINE void byte_limiter::reservation::release() noexcept {
  if (owner_ != nullptr) std::exchange(owner_, nullptr)->give_back(std::exchange(bytes_, 0));
}

ZARRPOINT_INLINE result<byte_limiter::reservation> byte_limiter::acquire(std::size_t bytes,
                                                                         const stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!waiting_.empty() || !fits(bytes)) {
    const std::uint64_t ticket = next_ticket_++;
    waiting_.push_back(ticket);
    while (waiting_.front() != ticket || !fits(bytes)) {
      if (stop.stop_requested()) {
        waiting_.erase(std::find(waiting_.begin(), waiting_.end(), ticket));
        changed_.notify_all();
        return error{errc::cancelled, "stop was requested"};
      }
      if (stop.stop_possible()) {
        // A token cannot wake anyone, so waiters look at it: 10 ms is soon for a person.
        changed_.wait_for(lock, std::chrono::milliseconds(10));
      } else {
        changed_.wait(lock);
      }
    }
    waiting_.erase(waiting_.begin());
    changed_.notify_all();  // the next in the line may fit too
  }
  in_flight_ += bytes;
  peak_ = std::max(peak_, in_flight_);
  return reservation(this, bytes);
}

ZARRPOINT_INLINE std::optional<byte_limiter::reservation> byte_limiter::try_acquire(
    std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!waiting_.empty() || !fits(bytes)) return std::nullopt;
  in_flight_ += bytes;
  peak_ = std::max(peak_, in_flight_);
  return reservation(this, bytes);
}

ZARRPOINT_INLINE std::size_t byte_limiter::in_flight() const {
  const std::lock_guard lock(mutex_);
  return in_flight_;
}

ZARRPOINT_INLINE std::size_t byte_limiter::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

ZARRPOINT_INLINE bool byte_limiter::fits(std::size_t bytes) const noexcept {
  if (in_flight_ == 0) return true;
  if (bytes > SIZE_MAX - in_flight_) return false;
  return limit_ == 0 || in_flight_ + bytes <= limit_;
}

ZARRPOINT_INLINE void byte_limiter::give_back(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  in_flight_ -= bytes;
  changed_.notify_all();  // under the lock: a waiter that goes on may destroy the limiter
}

}}  // namespace zarrpoint::v0
