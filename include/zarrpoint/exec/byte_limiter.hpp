// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/stop.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace zarrpoint::inline v0 {

/// Bounds the bytes that are in flight at a time. Requests are granted in the order in which they
/// came, so that a large one is not starved by small ones; one above the limit is granted alone.
/// A thread that holds a reservation must not ask for another: it could wait for itself.
class byte_limiter {
 public:
  /// Bytes that are given back when it is destroyed. The limiter must outlive it.
  class reservation {
   public:
    reservation() = default;
    reservation(reservation&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    reservation& operator=(reservation&& other) noexcept {
      if (this != &other) {
        release();
        owner_ = std::exchange(other.owner_, nullptr);
        bytes_ = std::exchange(other.bytes_, 0);
      }
      return *this;
    }
    ~reservation() { release(); }

    std::size_t bytes() const noexcept { return bytes_; }
    /// Gives the bytes back now.
    void release() noexcept {
      if (owner_ != nullptr) std::exchange(owner_, nullptr)->give_back(std::exchange(bytes_, 0));
    }

   private:
    friend class byte_limiter;
    reservation(byte_limiter* owner, std::size_t bytes) : owner_(owner), bytes_(bytes) {}
    byte_limiter* owner_ = nullptr;
    std::size_t bytes_ = 0;
  };

  /// `limit` in bytes; 0 for none.
  explicit byte_limiter(std::size_t limit) : limit_(limit) {}
  byte_limiter(const byte_limiter&) = delete;
  byte_limiter& operator=(const byte_limiter&) = delete;

  /// Waits until `bytes` fit. Errors: `cancelled` when it would have to wait and stop is requested.
  result<reservation> acquire(std::size_t bytes, const stop_token& stop = {}) {
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
      waiting_.pop_front();
      changed_.notify_all();  // the next in the line may fit too
    }
    in_flight_ += bytes;
    peak_ = std::max(peak_, in_flight_);
    return reservation(this, bytes);
  }

  /// The same without waiting: nothing when `bytes` do not fit now, or others wait for theirs.
  std::optional<reservation> try_acquire(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!waiting_.empty() || !fits(bytes)) return std::nullopt;
    in_flight_ += bytes;
    peak_ = std::max(peak_, in_flight_);
    return reservation(this, bytes);
  }

  std::size_t limit() const noexcept { return limit_; }
  /// The bytes that are reserved now.
  std::size_t in_flight() const {
    const std::lock_guard lock(mutex_);
    return in_flight_;
  }
  /// The most bytes that were reserved at a time.
  std::size_t peak() const {
    const std::lock_guard lock(mutex_);
    return peak_;
  }

 private:
  bool fits(std::size_t bytes) const noexcept {
    if (in_flight_ == 0) return true;
    if (bytes > SIZE_MAX - in_flight_) return false;
    return limit_ == 0 || in_flight_ + bytes <= limit_;
  }
  void give_back(std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    in_flight_ -= bytes;
    changed_.notify_all();  // under the lock: a waiter that goes on may destroy the limiter
  }

  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::uint64_t> waiting_;  // tickets, in the order of their requests
  std::uint64_t next_ticket_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace zarrpoint::inline v0
