// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/file/file_root.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A file that grows by one direct write. Where such a write extends a file of extents, ext4 sets
/// the size once. That is when all of the data is on the disk and all extents are marked as written
/// (`ext4_dio_write_end_io` and `ext4_handle_inode_extension` in the kernel). So neither a reader
/// nor one after a crash sees a part of it. XFS sets the size with the first of several extents;
/// buffered writes, to which ext4 falls back where it keeps data in its journal, page by page.
///
/// The write begins behind the last block: a page that holds both old and new data may be in memory
/// still, as it was, when the size changes.
class extended_file final : public blob_extension {
 public:
  /// Null where the file is not the one that is open as `before`, has several names, of which
  /// others would be a copy that must not change. It is null where it is being extended by another
  /// writer, or lies where it does not grow in one step.
  static result<std::unique_ptr<blob_extension>> open(std::shared_ptr<file_root> root,
                                                      const store_key& key, const blob& before);

  extended_file(std::shared_ptr<file_root> root, const store_key& key, unique_fd direct,
                std::uint64_t size);

  ZARRPOINT_NO_KEY result<void> finish(bytes_view more) override;

 private:
  error failure(const char* action, int code) const;
  /// Takes away what may lie behind the old end; the error for `code`.
  error taken_back(int fd, const char* action, int code) const;

  std::shared_ptr<file_root> root_;
  store_key key_;
  unique_fd fd_;
  std::uint64_t size_;
};

}}}  // namespace zarrpoint::v0::detail
