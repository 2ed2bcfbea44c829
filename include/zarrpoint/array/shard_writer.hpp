// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_state.hpp>
#include <zarrpoint/array/chunk_digests.hpp>
#include <zarrpoint/array/chunk_encoder.hpp>
#include <zarrpoint/array/shard_index.hpp>
#include <zarrpoint/array/stored_object.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/blob.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0::detail {

/// One shard being written. Inner chunks are encoded by many workers at a time and stored one after
/// another in the order of the plan, so that the same data always give the same bytes. One that
/// is ready before its turn is parked, and written by the worker that gives it its place.
class shard_writer {
 public:
  shard_writer(const array_state& of, store_key key, std::unique_ptr<stored_object> before,
               std::uint32_t alignment = 1)
      : of_(of),
        shard_(*of.layout.shard()),
        key_(std::move(key)),
        before_(std::move(before)),
        alignment_(alignment) {}

  /// The shard that is replaced, when some of it is kept; else null.
  const stored_object* before() const noexcept { return before_.get(); }

  /// For `items` inner chunks. `dense`: each will be stored.
  result<void> begin(std::size_t items, bool dense, scratch_pool& pool) {
    unwritten_ = items;
    if (of_.layout.chain().is_raw()) alignment_ = 1;  // those form one array
    ZARRPOINT_TRY(index, shard_index::make(of_.layout.inner_count(), pool.resource()));
    index_ = std::move(index);
    digest_.crc32c.resize(index_.size());
    // Nothing but the first inner chunk after an index at the start needs a gap: uncompressed
    // ones then form one array that begins at a multiple of 64.
    if (shard_.location == index_location::start) {
      ZARRPOINT_TRY(first, checked_round_up(shard_.index_size, std::uint64_t{64}));
      end_ = first;
    }
    const codec_chain& chain = of_.layout.chain();
    if (dense && chain.fixed_size()) expected_ = items * chain.encoded_bound() + shard_.index_size;
    return {};
  }

  /// Waits until fewer than `window` inner chunks before that of `position` are without a place;
  /// false when one before it failed. The one whose turn it is never waits.
  bool wait_until_near(std::size_t position, std::size_t window) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return position > failed_at_ || position < next_ + window; });
    return position < failed_at_;
  }

  /// No inner chunk after that of `position` will get a place; what those that are parked hold is
  /// free for others. Those before it go on, so that the first of all failures is the one that is
  /// reported.
  void fail(std::size_t position) {
    std::map<std::size_t, encoded_chunk> dropped;
    {
      const std::lock_guard lock(mutex_);
      failed_at_ = std::min(failed_at_, position);
      while (!parked_.empty() && parked_.rbegin()->first > failed_at_)
        dropped.insert(parked_.extract(std::prev(parked_.end())));
    }
    moved_.notify_all();
  }

  /// Gives the inner chunk its place and writes it, or parks it until those before it have theirs.
  /// True when all are written: then `finish` is due.
  result<bool> place(std::size_t position, encoded_chunk chunk) {
    std::vector<placed> ready;
    {
      const std::lock_guard lock(mutex_);
      if (position > failed_at_) return error{errc::cancelled, "another inner chunk failed"};
      parked_.emplace(position, std::move(chunk));
      while (!parked_.empty() && parked_.begin()->first == next_) {
        ZARRPOINT_TRY(one, assign(std::move(parked_.extract(parked_.begin()).mapped())));
        ready.push_back(std::move(one));
        ++next_;
      }
    }
    if (ready.empty()) return false;
    moved_.notify_all();
    for (placed& one : ready) {
      if (!one.chunk.absent) ZARRPOINT_CHECK(writer_->write(one.offset, one.chunk.bytes));
      one.chunk = {};  // its scratch memory is free for others
    }
    const std::lock_guard lock(mutex_);
    unwritten_ -= ready.size();
    return unwritten_ == 0;
  }

  /// Writes the index and makes the shard visible; one without inner chunks is erased.
  result<object_digest> finish(scratch_pool& pool) {
    if (writer_ == nullptr) {
      ZARRPOINT_CHECK(of_.store.erase(key_));
      return object_digest{};
    }
    const scratch_pool::lease scratch = pool.borrow();
    const host_view words =
        dense_view(std::as_const(index_).words().data(), shard_.index_chain.chunk_spec());
    ZARRPOINT_TRY(stored, shard_.index_chain.encode(words, *scratch).at("shard index"));
    const bool at_end = shard_.location == index_location::end;
    ZARRPOINT_CHECK(writer_->write(at_end ? end_ : 0, stored));
    ZARRPOINT_CHECK(writer_->finish());
    digest_.size = at_end ? end_ + shard_.index_size : end_;
    return std::move(digest_);
  }

 private:
  struct placed {
    encoded_chunk chunk;
    std::uint64_t offset;
  };

  result<placed> assign(encoded_chunk chunk) {
    if (chunk.absent) return placed{std::move(chunk), 0};
    if (writer_ == nullptr) {
      ZARRPOINT_TRY(created, of_.store.create(key_));
      writer_ = std::move(created);
      if (expected_ != 0) ZARRPOINT_CHECK(writer_->reserve(expected_));
    }
    ZARRPOINT_TRY(place, shard_place(end_, chunk.bytes.size(), alignment_));
    end_ = place;
    const std::uint64_t offset = end_;
    index_.set(chunk.slot, {offset, chunk.bytes.size()});
    digest_.crc32c[chunk.slot] = chunk.digest;
    end_ += chunk.bytes.size();
    return placed{std::move(chunk), offset};
  }

  const array_state& of_;
  const shard_parts& shard_;
  const store_key key_;
  const std::unique_ptr<stored_object> before_;
  std::uint32_t alignment_;     // of inner chunks
  std::uint64_t expected_ = 0;  // size of the shard, where it is known beforehand

  std::mutex mutex_;
  std::condition_variable moved_;
  std::map<std::size_t, encoded_chunk> parked_;
  std::size_t next_ = 0;  // position whose turn it is
  std::size_t unwritten_ = 0;
  std::uint64_t end_ = 0;  // of what has a place
  std::size_t failed_at_ = SIZE_MAX;
  std::unique_ptr<blob_writer> writer_;  // made with the first that is stored
  shard_index index_;
  object_digest digest_;
};

}  // namespace zarrpoint::inline v0::detail
