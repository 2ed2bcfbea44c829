// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/zip/zip_builder.hpp>
#include <zarrpoint/store/zip/zip_checksum.hpp>
#include <zarrpoint/store/zip/zip_member_writer.hpp>
#include <zarrpoint/store/zip/zip_records.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE zip_member_writer::zip_member_writer(std::shared_ptr<zip_builder> archive,
                                                      store_key key)
    : archive_(std::move(archive)), key_(std::move(key)) {
  archive_->writer_opened();
}

ZARRPOINT_INLINE zip_member_writer::~zip_member_writer() {
  place_.reset();
  archive_->writer_closed();
}

ZARRPOINT_INLINE result<void> zip_member_writer::write(std::uint64_t offset, bytes_view bytes) {
  if (bytes.empty()) return {};
  if (offset > max_size || bytes.size() > max_size - offset)
    return error{errc::out_of_range, "write " + name() + ": beyond the largest file"};
  const std::uint64_t end = offset + bytes.size();
  {
    const std::lock_guard lock(mutex_);
    if (spent_) return refuse();
    if (place_ == nullptr && std::max(end, reserved_) <= kept_bytes)
      return keep(static_cast<std::size_t>(offset), bytes);
    if (place_ == nullptr || end > place_->extent.capacity()) ZARRPOINT_CHECK(make_room(end));
    size_ = std::max(size_, end);
  }
  const std::shared_lock lock(mutex_);
  return put(offset, bytes);
}

ZARRPOINT_INLINE result<void> zip_member_writer::reserve(std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  if (size <= max_size) reserved_ = size;
  return {};
}

ZARRPOINT_INLINE result<void> zip_member_writer::read(std::uint64_t offset,
                                                      mutable_bytes into) const {
  const std::shared_lock lock(mutex_);
  if (offset > size_ || into.size() > size_ - offset)
    return error{errc::out_of_range, "read " + name() + ": that part was not written yet"};
  if (place_ != nullptr) return archive_->read(place_->extent.data + offset, into);
  if (!into.empty()) std::memcpy(into.data(), kept_.data() + offset, into.size());
  return {};
}

ZARRPOINT_INLINE result<void> zip_member_writer::finish() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(spent_, true)) return refuse();
  result<void> done = guarded([&] { return place_and_describe(); });
  if (!done) return std::move(done).at("finish " + name());
  return {};
}

ZARRPOINT_INLINE error zip_member_writer::refuse() const {
  return {errc::invalid_argument, "finish " + name() + ": it is finished already"};
}

ZARRPOINT_INLINE result<void> zip_member_writer::keep(std::size_t offset, bytes_view bytes) {
  const std::size_t end = offset + bytes.size();
  if (end > kept_.size()) {
    ZARRPOINT_CHECK(guarded([&]() -> result<void> {
      kept_.resize(end);
      return {};
    }));
    size_ = end;
  }
  std::memcpy(kept_.data() + offset, bytes.data(), bytes.size());
  return {};
}

ZARRPOINT_INLINE result<void> zip_member_writer::put(std::uint64_t offset, bytes_view bytes) {
  ZARRPOINT_CHECK(archive_->write(place_->extent.data + offset, bytes));
  return guarded([&]() -> result<void> {
    checksum_.add(offset, bytes);
    return {};
  });
}

ZARRPOINT_INLINE result<void> zip_member_writer::make_room(std::uint64_t end) {
  return guarded([&]() -> result<void> {
    if (place_ == nullptr) {
      const bool is_reserved = reserved_ >= end;
      auto made = archive_->allocate(key_, is_reserved ? reserved_ : 2 * end);
      if (is_reserved) ZARRPOINT_CHECK(archive_->reserve(made->extent));
      if (!kept_.empty()) {
        ZARRPOINT_CHECK(archive_->write(made->extent.data, kept_));
        checksum_.add(0, kept_);
      }
      place_ = std::move(made);
      kept_ = {};
      return {};
    }
    if (archive_->space().resize(place_->extent, place_->extent.data + 2 * end)) return {};
    auto larger = archive_->allocate(key_, 2 * end);
    std::vector<std::byte> piece(kept_bytes);
    // Not up to `size_`: another thread may be about to write there, and finds the new place.
    const std::uint64_t written = checksum_.end();
    for (std::uint64_t at = 0; at < written; at += piece.size()) {
      const mutable_bytes part = mutable_bytes(piece).first(
          static_cast<std::size_t>(std::min<std::uint64_t>(written - at, piece.size())));
      ZARRPOINT_CHECK(archive_->read(place_->extent.data + at, part));
      ZARRPOINT_CHECK(archive_->write(larger->extent.data + at, part));
    }
    place_ = std::move(larger);
    return {};
  });
}

ZARRPOINT_INLINE result<void> zip_member_writer::place_and_describe() {
  if (place_ == nullptr) return archive_->add(key_, kept_);
  ZARRPOINT_CHECK(fill_holes());
  ZARRPOINT_TRY(crc, whole_checksum());
  place_->crc32 = crc;
  archive_->space().resize(place_->extent, place_->extent.data + size_);
  place_->size = size_;
  return archive_->describe(key_, std::exchange(place_, nullptr));
}

ZARRPOINT_INLINE result<void> zip_member_writer::fill_holes() {
  const std::vector<std::byte> zeros(4096);
  for (;;) {
    const auto [begin, end] = checksum_.hole(size_);
    if (begin == end) return {};
    for (std::uint64_t at = begin; at < end; at += zeros.size())
      ZARRPOINT_CHECK(put(at, bytes_view(zeros).first(static_cast<std::size_t>(
                                  std::min<std::uint64_t>(end - at, zeros.size())))));
  }
}

ZARRPOINT_INLINE result<std::uint32_t> zip_member_writer::whole_checksum() const {
  if (!checksum_.overlaps()) return checksum_.value();
  std::vector<std::byte> piece(kept_bytes);
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < size_; at += piece.size()) {
    const mutable_bytes part = mutable_bytes(piece).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(size_ - at, piece.size())));
    ZARRPOINT_CHECK(archive_->read(place_->extent.data + at, part));
    crc = crc32(crc, part);
  }
  return crc;
}

}}}  // namespace zarrpoint::v0::detail
