// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>

#include <atomic>
#include <cstddef>

namespace zarrpoint { inline namespace v0 {

class shard_index_cache;

namespace detail {

/// The shard indexes that the handles of an array keep from one read to the next. Nothing is made
/// before the first is kept: most arrays are read once, or have no shards. Thread-safe.
class shard_indexes {
 public:
  shard_indexes() = default;
  /// Those of another array, of which none is kept yet.
  shard_indexes(const shard_indexes&) noexcept {}
  shard_indexes& operator=(const shard_indexes&) = delete;
  ~shard_indexes();

  /// Null until the first is kept.
  shard_index_cache* get() const noexcept { return cache_.load(std::memory_order_acquire); }

  /// For arrays with so large a budget of memory.
  shard_index_cache& make(std::size_t budget);

 private:
  std::atomic<shard_index_cache*> cache_{nullptr};
};

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/array/read/impl/shard_indexes_impl.hpp>
#endif
