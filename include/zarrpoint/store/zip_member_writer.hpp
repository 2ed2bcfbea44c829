// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/crc32.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/blob.hpp>
#include <zarrpoint/store/key.hpp>
#include <zarrpoint/store/zip_builder.hpp>
#include <zarrpoint/store/zip_checksum.hpp>
#include <zarrpoint/store/zip_records.hpp>

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

namespace zarrpoint::inline v0::detail {

/// A member being written. Small ones are kept in memory until they are whole. Others get a piece
/// of the archive, as large as was reserved, or else twice of what there is so far each time that
/// they outgrow it: then what is written moves, unless they are the last.
class zip_member_writer final : public blob_writer {
 public:
  zip_member_writer(std::shared_ptr<zip_builder> archive, store_key key)
      : archive_(std::move(archive)), key_(std::move(key)) {
    archive_->writer_opened();
  }
  ~zip_member_writer() override {
    place_.reset();
    archive_->writer_closed();
  }

  result<void> write(std::uint64_t offset, bytes_view bytes) override {
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

  result<void> reserve(std::uint64_t size) override {
    const std::lock_guard lock(mutex_);
    if (size <= max_size) reserved_ = size;
    return {};
  }

  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    const std::shared_lock lock(mutex_);
    if (offset > size_ || into.size() > size_ - offset)
      return error{errc::out_of_range, "read " + name() + ": it was not written so far"};
    if (place_ != nullptr) return archive_->read(place_->extent.data + offset, into);
    if (!into.empty()) std::memcpy(into.data(), kept_.data() + offset, into.size());
    return {};
  }

  result<void> finish() override {
    const std::lock_guard lock(mutex_);
    if (std::exchange(spent_, true)) return refuse();
    result<void> done = guarded([&] { return place_and_describe(); });
    if (!done) return std::move(done).at("finish " + name());
    return {};
  }

 private:
  static constexpr std::uint64_t kept_bytes = std::uint64_t{1} << 20;
  /// So that offsets never overflow: no file is as large.
  static constexpr std::uint64_t max_size = std::uint64_t{1} << 62;
  /// Bytes that a page aligns from a size on at which a page more or less does not matter.
  static constexpr std::uint64_t page = 4096;
  static constexpr std::uint64_t paged_bytes = 16 * page;
  static constexpr std::uint64_t least_alignment = 64;

  std::string name() const { return archive_->name() + ":" + std::string(key_.str()); }
  error refuse() const {
    return {errc::invalid_argument, "finish " + name() + ": it is finished already"};
  }

  std::uint64_t header_size() const { return zip_local_size + key_.str().size() + zip_least_extra; }

  std::shared_ptr<zip_builder::member> allocate(std::uint64_t capacity) {
    return std::make_shared<zip_builder::member>(
        archive_->space(),
        archive_->space().allocate(header_size(), capacity,
                                   capacity >= paged_bytes ? page : least_alignment));
  }

  result<void> keep(std::size_t offset, bytes_view bytes) {
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

  result<void> put(std::uint64_t offset, bytes_view bytes) {
    ZARRPOINT_CHECK(archive_->write(place_->extent.data + offset, bytes));
    return guarded([&]() -> result<void> {
      checksum_.add(offset, bytes);
      return {};
    });
  }

  /// A place for at least `end` bytes, which has all that was written before.
  result<void> make_room(std::uint64_t end) {
    return guarded([&]() -> result<void> {
      if (place_ == nullptr) {
        place_ = allocate(std::max(reserved_, reserved_ >= end ? end : 2 * end));
        const std::vector<std::byte> before = std::exchange(kept_, {});
        return before.empty() ? result<void>() : put(0, before);
      }
      if (archive_->space().resize(place_->extent, place_->extent.data + 2 * end)) return {};
      auto larger = allocate(2 * end);
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

  result<void> place_and_describe() {
    if (place_ == nullptr) {
      place_ = allocate(kept_.size());
      if (!kept_.empty()) ZARRPOINT_CHECK(archive_->write(place_->extent.data, kept_));
      place_->crc32 = crc32(0, kept_);
    } else {
      ZARRPOINT_CHECK(fill_holes());
      ZARRPOINT_TRY(crc, whole_checksum());
      place_->crc32 = crc;
      archive_->space().resize(place_->extent, place_->extent.data + size_);
    }
    place_->size = size_;
    const std::uint64_t header = place_->extent.data - place_->extent.header;
    ZARRPOINT_CHECK(
        archive_->write(place_->extent.header,
                        as_bytes(zip_local_header(zip_builder::describe_member(key_.str(), *place_),
                                                  static_cast<std::size_t>(header)))));
    archive_->insert(key_, std::exchange(place_, nullptr));
    return {};
  }

  /// What no range covers is zero, whatever was there before.
  result<void> fill_holes() {
    const std::vector<std::byte> zeros(static_cast<std::size_t>(page));
    for (;;) {
      const auto [begin, end] = checksum_.hole(size_);
      if (begin == end) return {};
      for (std::uint64_t at = begin; at < end; at += zeros.size())
        ZARRPOINT_CHECK(put(at, bytes_view(zeros).first(static_cast<std::size_t>(
                                    std::min<std::uint64_t>(end - at, zeros.size())))));
    }
  }

  result<std::uint32_t> whole_checksum() const {
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

  const std::shared_ptr<zip_builder> archive_;
  const store_key key_;
  mutable std::shared_mutex mutex_;  ///< shared by those who write to the place
  std::vector<std::byte> kept_;
  std::uint64_t reserved_ = 0;
  std::uint64_t size_ = 0;
  std::shared_ptr<zip_builder::member> place_;
  zip_checksum checksum_;
  bool spent_ = false;
};

}  // namespace zarrpoint::inline v0::detail
