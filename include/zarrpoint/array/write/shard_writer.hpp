// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/write/chunk_encoder.hpp>
#include <zarrpoint/exec/progress.hpp>

#include <condition_variable>
#include <iterator>
#include <map>
#include <mutex>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What a write does to a shard that is there.
struct shard_change {
  std::size_t touched_chunks = 0;     ///< inner chunks that are written
  std::uint64_t untouched_bytes = 0;  ///< of the others, as they are stored
};

/// One shard being written. Inner chunks are encoded by many workers at a time. They are stored one
/// after another in the order of the plan, so that the same data always give the same bytes. One
/// that is ready before its turn is parked, and written by the worker that gives it its place.
///
/// A shard of which little changes is extended instead: what changes is gathered in memory, and
/// goes behind what is there together with a new index.
class shard_writer {
 public:
  shard_writer(const array_state& of, store_key key, std::unique_ptr<stored_object> before,
               std::uint32_t alignment = 1);

  /// Whom to tell of what is written; null: nobody.
  void tell(phase_observer* observer) noexcept { observer_ = observer; }

  /// The shard that is replaced, when some of it is kept; else null.
  const stored_object* before() const noexcept { return before_.get(); }

  /// For `items` inner chunks. `dense`: each will be stored.
  result<void> begin(std::size_t items, bool dense, scratch_pool& pool);

  /// Before any inner chunk has a place: whether the shard that is there can be extended.
  result<bool> can_extend();
  /// Then: extends it rather than to replace it, if that is worth it.
  void extend(const shard_change& by, scratch_pool& pool);
  bool extends() const noexcept { return extension_ != nullptr; }

  /// Waits until fewer than `window` inner chunks before that of `position` are without a place;
  /// false when one before it failed. The one whose turn it is never waits.
  bool wait_until_near(std::size_t position, std::size_t window);

  /// No inner chunk after that of `position` will get a place; what those that are parked hold is
  /// free for others. Those before it go on, so that the first of all failures is the one that is
  /// reported.
  void fail(std::size_t position);

  /// Gives the inner chunk its place and writes it, or parks it until those before it have theirs.
  /// True when all are written: then `finish` is due.
  result<bool> place(std::size_t position, encoded_chunk chunk);

  /// Writes the index and makes the shard visible; one without inner chunks is erased.
  result<object_digest> finish(scratch_pool& pool);

 private:
  struct placed {
    encoded_chunk chunk;
    std::uint64_t offset;
    std::size_t gap = 0;  ///< bytes before it that stay zero
  };

  /// As much as is gathered in memory at most.
  static constexpr std::uint64_t most_added = std::uint64_t{16} << 20;

  result<placed> assign(encoded_chunk chunk);
  result<void> write_at(const placed& one);
  result<void> add_at(std::uint64_t offset, bytes_view bytes);
  /// What lies between two inner chunks in a shard that is extended.
  void clear_gap(std::uint64_t begin, std::uint64_t end) noexcept;
  /// The bytes that so many inner chunks take at most, with an index; UINT64_MAX: too many.
  std::uint64_t most_of(std::uint64_t chunks) const;

  const array_state& of_;
  const shard_parts& shard_;
  const store_key key_;
  const std::unique_ptr<stored_object> before_;
  phase_observer* observer_ = nullptr;
  std::uint32_t alignment_;     // of inner chunks
  std::uint64_t expected_ = 0;  // size of the shard, where it is known beforehand

  std::mutex mutex_;
  std::condition_variable moved_;
  std::map<std::size_t, encoded_chunk> parked_;
  std::size_t next_ = 0;  // position whose turn it is
  std::size_t unwritten_ = 0;
  std::uint64_t end_ = 0;  // of what has a place
  std::size_t failed_at_ = SIZE_MAX;
  std::unique_ptr<blob_writer> writer_;        // made with the first that is stored, or
  std::unique_ptr<blob_extension> extension_;  // of `before_`
  scratch_pool::lease room_;
  mutable_bytes added_;  // in it: what it adds, from `added_at_`
  std::uint64_t added_at_ = 0;
  shard_index index_;
  object_digest digest_;
};

}}}  // namespace zarrpoint::v0::detail
