// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/codec/base/chain.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

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

class scratch_pool;

namespace detail {

/// The scratch memory that a read or write of a part of an array leaves for the next one, with the
/// codecs' states. To make that of zstd takes a fifth of the time of a read of 64 KiB. One
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

/// What arrays of the same metadata may share.
struct array_description {
  array_metadata metadata;
  array_layout layout;
  context how;
};

/// How many entries the last listing of an array had, for the reads of all its handles.
class listing_size {
 public:
  listing_size() = default;
  listing_size(const listing_size& other) noexcept : entries_(other.get()) {}
  listing_size& operator=(const listing_size&) = delete;
  std::size_t get() const noexcept { return entries_.load(std::memory_order_relaxed); }
  void set(std::size_t entries) noexcept { entries_.store(entries, std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> entries_{0};
};

/// What the handles of one array share.
struct array_state {
  array_state(any_store in, store_key at, std::shared_ptr<const array_description> what);
  array_state(any_store in, store_key at, array_metadata of, array_layout by, context with);

  any_store store;
  store_key key;
  std::shared_ptr<const array_description> described;
  const array_metadata& metadata = described->metadata;
  const array_layout& layout = described->layout;
  const context& how = described->how;
  /// The key of the only chunk, when this is one chunk of another array; else empty.
  std::string only_key{};
  /// Whether this is a shard within a shard: its chunk has no key of its own.
  bool is_within = false;
  mutable listing_size listed{};
  mutable shard_indexes indexes{};
  mutable spare_scratch scratch{};
  /// The array that this is a chunk of, when its indexes are kept there; else null.
  const array_state* outer = nullptr;

  /// The key of a chunk, relative to the array.
  std::string chunk_key(const dims& index) const;
  /// The fill value as `fill_elements` takes it.
  bytes_view fill() const noexcept { return metadata.fill_element(); }
  bool sharded() const noexcept { return layout.shard() != nullptr; }

  /// `"inner chunk [3, 0]"`, as errors name it.
  std::string inner_name(const dims& inner) const;
  /// Where an inner chunk ends within the array: what lies beyond is padding.
  dims valid_shape(const dims& first_element) const;
};

/// The scratch memory of an operation: the context's, or one of its own.
std::shared_ptr<scratch_pool> scratch_of(const context& how);

/// The same for what reads or writes a part of an array, for which the array keeps it. What is read
/// or written whole hardly is again.
inline array_scratch scratch_of_part(const array_state& of, const context& how, const dims& part) {
  return {&how == &of.how ? &of.scratch : nullptr, how, part != of.metadata.shape};
}

/// A context for what one worker does, among others that `how` runs; all share one scratch memory.
/// Who reads or writes arrays by it, and counts apart, takes its progress away.
context of_one_worker(const context& how);

/// Operations on fewer bytes are done by the calling thread alone: waking another costs as much.
inline constexpr std::size_t parallel_threshold = std::size_t{256} << 10;

/// The digest of the stored bytes of an inner chunk: see `object_digest`.
std::uint32_t payload_digest(const codec_chain& chain, bytes_view stored);

/// Whether a chunk or inner chunk may be stored in `size` bytes, before memory is taken for them.
/// Errors: `corrupt`.
result<void> check_stored_size(const codec_chain& chain, std::uint64_t size);

/// Whether one call may meet so many chunks. Errors: `resource_limit`.
result<void> check_chunk_count(std::uint64_t count, const limits& limit);

/// Adds the name of the array to an error.
template <class T>
result<T> at_array(result<T> status, const array_state& of) {
  if (status) return status;
  return std::move(status).at("array " + of.store.describe(of.key));
}

}  // namespace detail

}}  // namespace zarrpoint::v0
