// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/zip/zip_batch.hpp>
#include <zarrpoint/store/zip/zip_records.hpp>
#include <zarrpoint/store/zip/zip_space.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The archive behind a `zip_writer`.
class zip_builder {
 public:
  /// A member that is written; its piece of the archive is free again once nobody has it.
  struct member {
    member(zip_space& archive, zip_extent at) : space(archive), extent(at) {}
    member(const member&) = delete;
    member& operator=(const member&) = delete;
    ~member() { space.give_back(extent); }

    zip_space& space;
    zip_extent extent;
    std::uint64_t size = 0;
    std::uint32_t crc32 = 0;
  };
  using member_map = std::map<std::string, std::shared_ptr<const member>, std::less<>>;

  zip_builder(std::unique_ptr<blob_writer> to, std::string name);

  const std::string& name() const noexcept { return name_; }
  zip_space& space() noexcept { return space_; }

  /// Room for a member of up to `capacity` bytes, and for its header.
  std::shared_ptr<member> allocate(const store_key& key, std::uint64_t capacity);

  /// Asks for room in the file up to the end of `extent`, so that a full disk is reported before
  /// it is written, and the file system need not look for room piece by piece.
  result<void> reserve(const zip_extent& extent);

  /// Adds a whole member. Small ones are gathered, and go to the file together: what the file
  /// refuses may be told by the member that fills a batch, by a read, or by `finish`.
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
  void insert(const store_key& key, std::shared_ptr<const member> made);
  bool erase(const store_key& key);
  std::vector<list_entry> list(const store_key& prefix) const;

  /// Writes the central directory behind all that was ever written, so that the file ends with it,
  /// and puts the file in its place.
  result<void> finish();

  static zip_member describe_member(std::string_view key, const member& one);

 private:
  /// Bytes that a page aligns from a size on at which a page more or less does not matter.
  static constexpr std::uint64_t page = 4096;
  static constexpr std::uint64_t paged_bytes = 16 * page;
  static constexpr std::uint64_t least_alignment = 64;

  /// Before it is done: a write that fails may have written a part.
  void note_written(std::uint64_t end) noexcept;

  result<void> add_large(const store_key& key, bytes_view bytes);
  result<void> add_small(const store_key& key, bytes_view bytes);

  std::string header_of(std::string_view key, const member& one) const;

  const std::unique_ptr<blob_writer> to_;
  const std::string name_;
  zip_space space_;
  std::mutex adding_;  ///< of the one that adds a small member: each lies behind the one before
  mutable zip_batch batch_;
  std::mutex reserving_;
  std::uint64_t reserved_ = 0;
  mutable std::mutex mutex_;
  member_map members_;
  std::atomic<unsigned> writers_{0};
  std::atomic<std::uint64_t> written_{0};  ///< the end of what was written last in the file
  bool finished_ = false;                  ///< no more members
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/store/zip/impl/zip_builder_impl.hpp>
#endif
