// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/file/file_root.hpp>

#include <sys/file.h>
#include <sys/stat.h>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A file being written: under a temporary name beside its own, or, in a tree that nobody reads
/// yet, in its place.
class file_writer final : public blob_writer {
 public:
  static result<std::unique_ptr<blob_writer>> open(std::shared_ptr<file_root> root,
                                                   const store_key& key);

  file_writer(std::shared_ptr<file_root> root, store_key key);

  ZARRPOINT_NO_KEY ~file_writer() override;

  ZARRPOINT_NO_KEY result<void> write(std::uint64_t offset, bytes_view bytes) override;

  ZARRPOINT_NO_KEY result<void> write_once(std::uint64_t offset, std::size_t gap,
                                           bytes_view bytes) override;

  ZARRPOINT_NO_KEY result<void> write_kept(std::uint64_t offset, std::size_t gap,
                                           bytes_view bytes) override;

  /// The size of the file does not run ahead of its data: a file cut short is found, one filled
  /// with zeros may not be.
  ZARRPOINT_NO_KEY result<void> reserve(std::uint64_t size) override;

  ZARRPOINT_NO_KEY result<void> read(std::uint64_t offset, mutable_bytes into) const override;

  ZARRPOINT_NO_KEY result<void> finish() override;

 private:
  std::string name() const { return root_->describe(key_); }

  /// False and errno on failure.
  bool create();

  bool create_file(std::string as);

  /// Under a temporary name, and locked.
  bool create_beside();

  /// Writes `bytes`, past the page cache where that pays; null: they may be written again.
  result<void> put(std::uint64_t offset, bytes_view bytes, const direct_writes::once* how);

  void open_direct();

  /// Whether our file still has its name; one that is written in its place may have been replaced.
  bool is_ours() const noexcept;

  std::shared_ptr<file_root> root_;
  store_key key_;
  shared_directory parent_;
  unique_fd fd_;
  unique_fd lock_;  ///< the same file, until it has its name
  std::string at_;  ///< the name it has in its directory until it is finished; empty: none
  bool renames_ = false;
  std::mutex direct_mutex_;
  std::atomic<bool> direct_in_use_{false};  ///< since it is open
  direct_writes direct_;
  std::uint64_t reserved_ = 0;
  std::atomic<std::uint64_t> end_{0};
  std::atomic<bool> failed_{false};
};

}}}  // namespace zarrpoint::v0::detail
