// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/core/config.hpp>

#include <atomic>
#include <cstddef>
#include <memory>

namespace zarrpoint { inline namespace v0 {

class scratch_pool;

namespace detail {

/// The scratch memory that a read or write of a part of an array leaves for the next one, with the
/// codecs' states: to make that of zstd takes a fifth of the time of a read of 64 KiB. One
/// operation has it at a time; those beside it make their own. Thread-safe, and nobody waits.
class spare_scratch {
 public:
  /// As much is kept at most.
  static constexpr std::size_t most = std::size_t{1} << 20;

  spare_scratch() = default;
  /// That of another array, of which none is kept yet.
  spare_scratch(const spare_scratch&) noexcept {}
  spare_scratch& operator=(const spare_scratch&) = delete;

  /// What was left, or null; null, too, where another thread is here at this moment.
  std::shared_ptr<scratch_pool> take() noexcept;
  /// Leaves as much of it as may be kept, in place of what was left before.
  void leave(std::shared_ptr<scratch_pool> used) noexcept;

 private:
  std::atomic_flag busy_;
  std::shared_ptr<scratch_pool> left_;
};

/// The scratch memory of one operation: the context's, or what an array keeps, or a new one.
class array_scratch {
 public:
  /// `kept`: the array's, for a context that is its own; else null. It leaves its scratch memory
  /// there if `again` is true, or if it found it there.
  array_scratch(spare_scratch* kept, const context& how, bool again);
  array_scratch(const array_scratch&) = delete;
  array_scratch& operator=(const array_scratch&) = delete;
  ~array_scratch();

  const std::shared_ptr<scratch_pool>& pool() const noexcept { return pool_; }
  scratch_pool* operator->() const noexcept { return pool_.get(); }
  scratch_pool& operator*() const noexcept { return *pool_; }

 private:
  spare_scratch* kept_ = nullptr;
  std::shared_ptr<scratch_pool> pool_;
};

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/array/read/impl/spare_scratch_impl.hpp>
#endif
