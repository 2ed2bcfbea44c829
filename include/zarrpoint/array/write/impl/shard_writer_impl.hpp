// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/base/scratch_tensor.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/read/stored_object.hpp>
#include <zarrpoint/array/shard/shard_index.hpp>
#include <zarrpoint/array/write/chunk_encoder.hpp>
#include <zarrpoint/array/write/shard_writer.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/store/base/blob.hpp>

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

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE shard_writer::shard_writer(const array_state& of, store_key key,
                                            std::unique_ptr<stored_object> before,
                                            std::uint32_t alignment)
    : of_(of),
      shard_(*of.layout.shard()),
      key_(std::move(key)),
      before_(std::move(before)),
      alignment_(alignment) {}

ZARRPOINT_INLINE result<void> shard_writer::begin(std::size_t items, bool dense,
                                                  scratch_pool& pool) {
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

ZARRPOINT_INLINE std::uint64_t shard_writer::most_of(std::uint64_t chunks) const {
  const std::uint64_t bound = of_.layout.chain().encoded_bound();
  if (bound > most_added || chunks > most_added / (bound + alignment_)) return UINT64_MAX;
  return chunks * (bound + alignment_) + shard_.index_size;
}

ZARRPOINT_INLINE result<bool> shard_writer::can_extend() {
  if (before_ == nullptr || shard_.location != index_location::end || most_of(1) > most_added)
    return false;
  ZARRPOINT_TRY(begun, of_.store.extend(key_, *before_->bytes));
  extension_ = std::move(begun);
  return extension_ != nullptr;
}

ZARRPOINT_INLINE void shard_writer::extend(const shard_change& by, scratch_pool& pool) {
  std::unique_ptr<blob_extension> begun = std::move(extension_);
  constexpr std::uint64_t block = blob_extension::block;
  const std::uint64_t size = before_->bytes->size();
  const std::uint64_t most = most_of(by.touched_chunks);
  // A shard that is replaced costs a copy of what stays, one that is extended holds what is old.
  // And where memory is short, it is for the inner chunks.
  if (size - by.untouched_bytes > by.untouched_bytes || most > most_added ||
      most > pool.budget().limit() / 4)
    return;
  room_ = pool.borrow();
  const std::size_t room = (most + block - 1) / block * block;
  const auto memory = room_->scratch(stored_slot, room + block);
  if (!memory) return;
  const std::size_t past = reinterpret_cast<std::uintptr_t>(memory->data()) % block;
  added_ = memory->subspan(past == 0 ? 0 : block - past, room);
  added_at_ = (size + block - 1) / block * block;
  end_ = added_at_;
  const bytes_view old = before_->index->words();
  std::copy(old.begin(), old.end(), index_.words().begin());
  extension_ = std::move(begun);
}

ZARRPOINT_INLINE bool shard_writer::wait_until_near(std::size_t position, std::size_t window) {
  std::unique_lock lock(mutex_);
  moved_.wait(lock, [&] { return position > failed_at_ || position < next_ + window; });
  return position < failed_at_;
}

ZARRPOINT_INLINE void shard_writer::fail(std::size_t position) {
  std::map<std::size_t, encoded_chunk> dropped;
  {
    const std::lock_guard lock(mutex_);
    failed_at_ = std::min(failed_at_, position);
    while (!parked_.empty() && parked_.rbegin()->first > failed_at_)
      dropped.insert(parked_.extract(std::prev(parked_.end())));
  }
  moved_.notify_all();
}

ZARRPOINT_INLINE result<bool> shard_writer::place(std::size_t position, encoded_chunk chunk) {
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
    if (!one.chunk.absent) ZARRPOINT_CHECK(write_at(one));
    one.chunk = {};  // its scratch memory is free for others
  }
  const std::lock_guard lock(mutex_);
  unwritten_ -= ready.size();
  return unwritten_ == 0;
}

ZARRPOINT_INLINE result<object_digest> shard_writer::finish(scratch_pool& pool) {
  if (writer_ == nullptr && extension_ == nullptr) {
    ZARRPOINT_CHECK(of_.store.erase(key_));
    return object_digest{};
  }
  const scratch_pool::lease scratch = pool.borrow();
  const host_view words =
      dense_view(std::as_const(index_).words().data(), shard_.index_chain.chunk_spec());
  ZARRPOINT_TRY(stored, shard_.index_chain.encode(words, *scratch).at("shard index"));
  const bool at_end = shard_.location == index_location::end;
  if (extension_ != nullptr) {
    ZARRPOINT_TRY(end, checked_round_up(end_ + shard_.index_size, blob_extension::block));
    clear_gap(end_, end - shard_.index_size);
    ZARRPOINT_CHECK(add_at(end - shard_.index_size, stored));
    ZARRPOINT_CHECK(extension_->finish(added_.first(end - added_at_)));
    return object_digest{};
  }
  ZARRPOINT_CHECK(writer_->write(at_end ? end_ : 0, stored));
  ZARRPOINT_CHECK(writer_->finish());
  digest_.size = at_end ? end_ + shard_.index_size : end_;
  return std::move(digest_);
}

ZARRPOINT_INLINE result<shard_writer::placed> shard_writer::assign(encoded_chunk chunk) {
  if (chunk.absent) {
    index_.set(chunk.slot, {});
    return placed{std::move(chunk), 0, 0};
  }
  if (writer_ == nullptr && extension_ == nullptr) {
    ZARRPOINT_TRY(created, of_.store.create(key_));
    writer_ = std::move(created);
    if (expected_ != 0) ZARRPOINT_CHECK(writer_->reserve(expected_));
  }
  ZARRPOINT_TRY(place, shard_place(end_, chunk.bytes.size(), alignment_));
  clear_gap(end_, place);
  const auto gap = static_cast<std::size_t>(place - end_);
  index_.set(chunk.slot, {place, chunk.bytes.size()});
  digest_.crc32c[chunk.slot] = chunk.digest;
  end_ = place + chunk.bytes.size();
  return placed{std::move(chunk), place, gap};
}

ZARRPOINT_INLINE result<void> shard_writer::write_at(const placed& one) {
  if (extension_ != nullptr) return add_at(one.offset, one.chunk.bytes);
  return one.chunk.bytes_stay ? writer_->write_kept(one.offset, one.gap, one.chunk.bytes)
                              : writer_->write_once(one.offset, one.gap, one.chunk.bytes);
}

ZARRPOINT_INLINE result<void> shard_writer::add_at(std::uint64_t offset, bytes_view bytes) {
  const std::uint64_t at = offset - added_at_;
  if (at > added_.size() || bytes.size() > added_.size() - at)
    return error{errc::invalid_argument, "an encoded inner chunk is larger than its codecs said"};
  std::copy(bytes.begin(), bytes.end(), added_.data() + at);
  return {};
}

ZARRPOINT_INLINE void shard_writer::clear_gap(std::uint64_t begin, std::uint64_t end) noexcept {
  if (extension_ == nullptr || end - added_at_ > added_.size()) return;
  std::fill_n(added_.data() + (begin - added_at_), end - begin, std::byte{0});
}

}}}  // namespace zarrpoint::v0::detail
