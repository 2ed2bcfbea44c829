// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/file/file_root.hpp>

#include <cstdint>
#include <memory>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A file that grows by one direct write. Where direct writes extend a file, ext4 and XFS set its
/// size once, when all of the data is on the disk: `ext4_handle_inode_extension` and
/// `xfs_dio_write_end_io` in the kernel. So no reader, and nobody after a crash, sees a part of it.
/// Buffered writes, and other file systems, let a file grow page by page.
class file_extension final : public blob_extension {
 public:
  /// Null where the file is not of `size` bytes, has several names (of which others would be a copy
  /// that must not change), is being extended, or is on another file system.
  static result<std::unique_ptr<blob_extension>> open(std::shared_ptr<file_root> root,
                                                      const store_key& key, std::uint64_t size);

  file_extension(std::shared_ptr<file_root> root, const store_key& key, unique_fd direct,
                 std::uint64_t size);

  ZARRPOINT_NO_KEY result<void> finish(mutable_bytes tail) override;

 private:
  error failure(const char* action, int code) const;

  std::shared_ptr<file_root> root_;
  store_key key_;
  unique_fd fd_;
  std::uint64_t size_;
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/store/file/impl/file_extension_impl.hpp>
#endif
