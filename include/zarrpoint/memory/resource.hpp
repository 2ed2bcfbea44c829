// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace zarrpoint { inline namespace v0 {

namespace detail {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

}  // namespace detail

/// Where the library gets the memory of tensors and of scratch space from. Thread-safe.
///
/// Unlike `std::pmr`, a refusal is a null pointer, so that running out of a budget is an error of
/// the call that asked for it and not an exception.
class memory_resource {
 public:
  /// `bytes > 0` bytes, uninitialised or zero, at a multiple of `alignment`, a power of two. Null
  /// when they cannot be had.
  [[nodiscard]] virtual void* allocate(std::size_t bytes, std::size_t alignment) noexcept = 0;
  /// Gives back what `allocate` returned for the same size and alignment.
  virtual void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept = 0;

  /// For messages: the bytes above which it refuses. SIZE_MAX when there is no such number, and
  /// when it was not this number that refused last.
  virtual std::size_t bytes_limit() const noexcept { return SIZE_MAX; }
  /// For messages: how many of them are in use.
  virtual std::size_t bytes_in_use() const noexcept { return 0; }

 protected:
  ~memory_resource() = default;
};

/// The memory of the system, without a limit; blocks of 2 MiB and more ask for huge pages.
memory_resource& default_resource() noexcept;

/// A budget: refuses what would bring the bytes in use above a limit, and remembers the peak.
class limited_resource final : public memory_resource {
 public:
  explicit limited_resource(std::size_t limit,
                            memory_resource& upstream = default_resource()) noexcept;

  [[nodiscard]] ZARRPOINT_NO_KEY void* allocate(std::size_t bytes,
                                                std::size_t alignment) noexcept override;
  ZARRPOINT_NO_KEY void deallocate(void* memory, std::size_t bytes,
                                   std::size_t alignment) noexcept override;

  /// Counts memory that others allocate, such as the text of strings; false if that is too much.
  [[nodiscard]] bool charge(std::size_t bytes) noexcept;
  /// Takes back what was charged.
  void refund(std::size_t bytes) noexcept { in_use_.fetch_sub(bytes, std::memory_order_relaxed); }

  std::size_t limit() const noexcept { return limit_; }
  /// Bytes handed out and not given back.
  std::size_t in_use() const noexcept { return in_use_.load(std::memory_order_relaxed); }
  /// The most bytes that were ever in use at once.
  std::size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }
  std::size_t bytes_limit() const noexcept override {
    return is_beneath_.load(std::memory_order_relaxed) ? SIZE_MAX : limit_;
  }
  std::size_t bytes_in_use() const noexcept override { return in_use(); }

 private:
  /// `total`: what is in use then.
  bool take(std::size_t bytes, std::size_t& total) noexcept;
  void note_peak(std::size_t used) noexcept;

  memory_resource* upstream_;
  std::size_t limit_;
  std::atomic<std::size_t> in_use_{0};
  std::atomic<std::size_t> peak_{0};
  std::atomic<bool> is_beneath_{false};  ///< the last refusal was that of `upstream_`
};

namespace detail {

/// Memory for what is made together, such as the tensors of one load. A block alone has small pages
/// for its end, where that does not nearly fill a huge one, and the first touch of those takes five
/// times as long. Here the next block begins in the same huge page.
///
/// Blocks may outlive this. A huge page goes back to the system when no block lies in it any more.
/// So a block that is kept from among its neighbours holds less than two beside its own. Small
/// blocks have huge pages of their own, whose parts go back as soon as three of four are unused. A
/// block that is kept holds at most four times the small pages that it lies in. The next of these
/// huge pages is cleared when half of the one before is used, by one thread.
class packed_memory {
 public:
  packed_memory() noexcept;
  packed_memory(const packed_memory&) = delete;
  packed_memory& operator=(const packed_memory&) = delete;
  ~packed_memory();

  /// Where to allocate one block of about so many bytes from: `default_resource()` for what gains
  /// nothing, which is all until much was asked for. The resource lives until this and all of
  /// its blocks are gone. Thread-safe.
  memory_resource& resource_for(std::size_t bytes) noexcept;

 private:
  struct state;

  state* const state_;  ///< null where there is no memory for it
};

}  // namespace detail

}}  // namespace zarrpoint::v0
