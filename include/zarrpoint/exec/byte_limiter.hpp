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
///
/// Where a reservation is kept until others are done (an encoded chunk that waits for its place),
/// it is asked for with `try_acquire`, leaving room for any of those others; these ask with
/// `acquire_first`. Then one of them always finds room, and no one waits for ever.
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
    /// Gives back all but `bytes`, if there are more.
    void shrink(std::size_t bytes) noexcept {
      if (bytes >= bytes_) return;
      owner_->give_back(bytes_ - bytes);
      bytes_ = bytes;
    }
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
    if (is_waited_for() || !fits(bytes)) {
      const std::uint64_t ticket = next_ticket_++;
      waiting_.push_back(ticket);
      while (waiting_.front() != ticket || first_ != 0 || !fits(bytes)) {
        if (!wait(lock, stop)) {
          waiting_.erase(std::find(waiting_.begin(), waiting_.end(), ticket));
          changed_.notify_all();
          return error{errc::cancelled, "stop was requested"};
        }
      }
      waiting_.pop_front();
      changed_.notify_all();  // the next in the line may fit too
    }
    return grant(bytes);
  }

  /// The same past those that wait in line: for who is waited for by others that hold reservations.
  result<reservation> acquire_first(std::size_t bytes, const stop_token& stop = {}) {
    std::unique_lock lock(mutex_);
    if (!fits(bytes)) {
      ++first_;
      bool stopped = false;
      while (!stopped && !fits(bytes)) stopped = !wait(lock, stop);
      if (--first_ == 0) changed_.notify_all();
      if (stopped) return error{errc::cancelled, "stop was requested"};
    }
    return grant(bytes);
  }

  /// The same without waiting: nothing when `bytes` do not fit now and leave room for as many as
  /// `left`, or others wait for theirs.
  std::optional<reservation> try_acquire(std::size_t bytes, std::size_t left = 0) {
    const std::lock_guard lock(mutex_);
    if (is_waited_for() || !fits(bytes)) return std::nullopt;
    if (left != 0 && limit_ != 0 &&
        (bytes > limit_ || left > limit_ - bytes || in_flight_ > limit_ - bytes - left))
      return std::nullopt;
    return grant(bytes);
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
  bool is_waited_for() const noexcept { return first_ != 0 || !waiting_.empty(); }
  reservation grant(std::size_t bytes) noexcept {
    in_flight_ += bytes;
    peak_ = std::max(peak_, in_flight_);
    return reservation(this, bytes);
  }
  /// False when stop is requested.
  bool wait(std::unique_lock<std::mutex>& lock, const stop_token& stop) {
    if (stop.stop_requested()) return false;
    if (stop.stop_possible()) {
      // A token cannot wake anyone, so waiters look at it: 10 ms is soon for a person.
      changed_.wait_for(lock, std::chrono::milliseconds(10));
    } else {
      changed_.wait(lock);
    }
    return true;
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
  std::size_t first_ = 0;              // those that wait past them
  std::uint64_t next_ticket_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace zarrpoint::inline v0
