// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/zip/zip_batch.hpp>
#include <zarrpoint/store/zip/zip_members.hpp>
#include <zarrpoint/store/zip/zip_records.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The archive behind a `zip_writer`.
class zip_builder {
 public:
  using member = zip_written_member;

  zip_builder(std::unique_ptr<blob_writer> to, std::string name)
      : to_(std::move(to)), name_(std::move(name)), batch_(*to_) {}

  const std::string& name() const noexcept { return name_; }
  zip_space& space() noexcept { return space_; }

  /// Room for a member of up to `capacity` bytes, and for its header.
  std::shared_ptr<member> allocate(const store_key& key, std::uint64_t capacity);

  /// Asks for room in the file up to the end of `extent`, so that a full disk is reported before it
  /// is written. The file system need not look for room piece by piece.
  result<void> reserve(const zip_extent& extent);

  /// Adds a whole member. Small ones are gathered, and go to the file together: what the file
  /// refuses may be told by a later member, by a read, or by `finish`.
  result<void> add(const store_key& key, bytes_view bytes);

  /// Writes a piece of the archive. Bytes stay in the file even if another member gets their place
  /// later: the directory comes behind it.
  result<void> write(std::uint64_t offset, bytes_view bytes);
  result<void> read(std::uint64_t offset, mutable_bytes into) const;

  /// Writes the header of a member whose bytes are in their place, and gives it its name.
  result<void> describe(const store_key& key, std::shared_ptr<member> made);

  void writer_opened() noexcept { writers_.fetch_add(1, std::memory_order_relaxed); }
  void writer_closed() noexcept { writers_.fetch_sub(1, std::memory_order_release); }

  std::shared_ptr<const member> find(std::string_view key) const;
  /// Gives a member its name. Errors: `invalid_argument` when it comes too late.
  result<void> insert(const store_key& key, std::shared_ptr<const member> made);
  bool erase(const store_key& key);
  std::vector<list_entry> list(const store_key& prefix) const;

  /// Writes the central directory behind all that was ever written, so that the file ends with it,
  /// and puts the file in its place.
  result<void> finish();

 private:
  /// Bytes that a page aligns from a size on at which a page more or less does not matter.
  static constexpr std::uint64_t page = 4096;
  static constexpr std::uint64_t paged_bytes = 16 * page;
  static constexpr std::uint64_t least_alignment = 64;

  /// Before it is done: a write that fails may have written a part.
  void note_written(std::uint64_t end) noexcept;

  result<void> add_large(const store_key& key, bytes_view bytes);
  result<void> add_small(const store_key& key, bytes_view bytes);

  zip_extent room_for(const store_key& key, std::uint64_t capacity);
  /// All but its name.
  static zip_member describe_member(const member& one);
  result<void> refuse_late() const;
  /// Once it has, no member is added.
  result<void> begin_finish();
  /// The central directory, which will be at `offset`, and the records that end the archive.
  std::string directory(std::uint64_t offset) const;

  const std::unique_ptr<blob_writer> to_;
  const std::string name_;
  zip_space space_;
  mutable zip_batch batch_;
  std::mutex reserving_;
  std::uint64_t reserved_ = 0;
  mutable std::mutex mutex_;  ///< taken before those of the room and of the batch
  zip_members members_;
  std::atomic<unsigned> writers_{0};
  std::atomic<std::uint64_t> written_{0};  ///< the end of what was written last in the file
  bool finished_ = false;                  ///< no more members
};

}}}  // namespace zarrpoint::v0::detail
