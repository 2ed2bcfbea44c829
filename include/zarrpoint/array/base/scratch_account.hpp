// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>

namespace zarrpoint { inline namespace v0 {

class scratch_pool;
struct context;

/// What one operation makes for its caller: tensors, and the text of strings. It counts against the
/// budget of a pool until the operation ends. Thread-safe.
class scratch_account {
 public:
  explicit scratch_account(scratch_pool& owner) : owner_(&owner) {}
  scratch_account(scratch_account&& other) noexcept;
  scratch_account& operator=(scratch_account&&) = delete;
  ~scratch_account() { clear(); }

  /// Counts so many bytes more; false if that is too much.
  [[nodiscard]] bool charge(std::size_t bytes) noexcept;
  /// Counts nothing any more.
  void clear() noexcept;
  /// What it counts counts there from now on, which is an account of the same pool.
  void move_to(scratch_account& larger) noexcept;

  scratch_pool& pool() const noexcept { return *owner_; }

 private:
  friend class scratch_pool;
  struct context;
  scratch_pool* owner_;
  std::atomic<std::size_t> bytes_{0};
};

namespace detail {

/// Has the pool of a context give up what idle workspaces keep.
void drop_idle_scratch(const context& how) noexcept;

}  // namespace detail

}}  // namespace zarrpoint::v0
