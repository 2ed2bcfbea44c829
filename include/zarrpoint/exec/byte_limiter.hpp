// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/stop.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// Bounds the bytes that are in flight at a time. Requests are granted in the order in which they
/// came, so that a large one is not starved by small ones; one above the limit is granted alone.
/// A thread that holds a reservation must not ask for another: it could wait for itself.
class byte_limiter {
 public:
  /// Bytes that are given back when it is destroyed. The limiter must outlive it.
  class reservation {
   public:
    reservation() = default;
    reservation(reservation&& other) noexcept;
    reservation& operator=(reservation&& other) noexcept;
    ~reservation() { release(); }

    std::size_t bytes() const noexcept { return bytes_; }
    /// Gives the bytes back now.
    void release() noexcept;

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
  result<reservation> acquire(std::size_t bytes, const stop_token& stop = {});

  /// The same without waiting: nothing when `bytes` do not fit now, or others wait for theirs.
  std::optional<reservation> try_acquire(std::size_t bytes);

  std::size_t limit() const noexcept { return limit_; }
  /// The bytes that are reserved now.
  std::size_t in_flight() const;
  /// The most bytes that were reserved at a time.
  std::size_t peak() const;

 private:
  bool fits(std::size_t bytes) const noexcept;
  void give_back(std::size_t bytes) noexcept;

  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint64_t> waiting_;  // tickets, in the order of their requests
  std::uint64_t next_ticket_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t peak_ = 0;
};

}}  // namespace zarrpoint::v0
