// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/zip/zip_builder.hpp>

#include <pthread.h>

#include <cstring>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The checksum of a member whose pieces are written in any order, and what they leave out.
class zip_checksum {
 public:
  void add(std::uint64_t offset, bytes_view bytes);

  /// The first range below `size` that nothing covers: empty if there is none.
  std::pair<std::uint64_t, std::uint64_t> hole(std::uint64_t size) const;
  /// Where the last piece ends.
  std::uint64_t end() const;
  /// Whether a byte was written twice: then `value` means nothing, but `hole` is right.
  bool overlaps() const;
  std::uint32_t value() const;

 private:
  struct piece {
    std::uint64_t end;
    std::uint32_t crc;
  };
  mutable std::mutex mutex_;
  std::map<std::uint64_t, piece> pieces_;
  bool overlaps_ = false;
};

/// A lock that one has alone, or many have together: what `std::shared_mutex` is, without the 300
/// lines of its header, which each program would read.
class many_lock {
 public:
  /// Holds it together with others for as long as it lives.
  class together {
   public:
    explicit together(many_lock& of) : of_(of) { ::pthread_rwlock_rdlock(&of_.lock_); }
    together(const together&) = delete;
    together& operator=(const together&) = delete;
    ~together() { of_.unlock(); }

   private:
    many_lock& of_;
  };

  many_lock() = default;
  many_lock(const many_lock&) = delete;
  many_lock& operator=(const many_lock&) = delete;
  ~many_lock() { ::pthread_rwlock_destroy(&lock_); }
  void lock() { ::pthread_rwlock_wrlock(&lock_); }
  void unlock() { ::pthread_rwlock_unlock(&lock_); }

 private:
  ::pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
};

/// A member being written. Small ones are kept in memory until they are whole. Others get a piece
/// of the archive, as large as was reserved, or else twice of what there is so far each time that
/// they outgrow it. Then what is written moves, unless they are the last.
class zip_member_writer final : public blob_writer {
 public:
  zip_member_writer(std::shared_ptr<zip_builder> archive, store_key key)
      : archive_(std::move(archive)), key_(std::move(key)) {
    archive_->writer_opened();
  }
  ZARRPOINT_NO_KEY ~zip_member_writer() override;

  ZARRPOINT_NO_KEY result<void> write(std::uint64_t offset, bytes_view bytes) override;

  ZARRPOINT_NO_KEY result<void> reserve(std::uint64_t size) override;

  ZARRPOINT_NO_KEY result<void> read(std::uint64_t offset, mutable_bytes into) const override;

  ZARRPOINT_NO_KEY result<void> finish() override;

 private:
  static constexpr std::uint64_t kept_bytes = std::uint64_t{1} << 20;
  /// So that offsets never overflow: no file is as large.
  static constexpr std::uint64_t max_size = std::uint64_t{1} << 62;

  std::string name() const { return archive_->name() + ":" + std::string(key_.str()); }
  error refuse() const;

  result<void> keep(std::size_t offset, bytes_view bytes);

  result<void> put(std::uint64_t offset, bytes_view bytes);

  /// A place for at least `end` bytes, which has all that was written before.
  result<void> make_room(std::uint64_t end);

  result<void> place_and_describe();

  /// What no range covers is zero, whatever was there before.
  result<void> fill_holes();

  result<std::uint32_t> whole_checksum() const;

  const std::shared_ptr<zip_builder> archive_;
  const store_key key_;
  mutable many_lock mutex_;  ///< shared by all that write to the place
  std::vector<std::byte> kept_;
  std::uint64_t reserved_ = 0;
  std::uint64_t size_ = 0;
  std::shared_ptr<zip_builder::member> place_;
  zip_checksum checksum_;
  bool spent_ = false;
};

}}}  // namespace zarrpoint::v0::detail
