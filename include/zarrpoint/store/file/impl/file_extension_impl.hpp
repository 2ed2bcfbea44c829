// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/file/directory.hpp>
#include <zarrpoint/store/file/file_extension.hpp>
#include <zarrpoint/store/file/file_root.hpp>

#include <sys/stat.h>
#include <sys/vfs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Whether a direct write beyond the end of a file changes its size once, and last.
ZARRPOINT_INLINE bool grows_in_one_step(int fd) noexcept {
  struct ::statfs info {};
  if (::fstatfs(fd, &info) != 0) return false;
  const auto type = static_cast<std::uint32_t>(info.f_type);
  return type == 0xef53 || type == 0x58465342;  // statfs(2): ext4, XFS
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_extension>> file_extension::open(
    std::shared_ptr<file_root> root, const store_key& key, std::uint64_t size) {
  // Where it cannot be opened so, it can be replaced, or that tells why not.
  unique_fd fd(open_beneath(root->fd(), key, O_RDWR | O_DIRECT | O_NONBLOCK));
  struct ::stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink != 1 ||
      static_cast<std::uint64_t>(info.st_size) != size || !grows_in_one_step(fd.get()) ||
      lock_file(fd.get(), LOCK_EX) != 0)
    return std::unique_ptr<blob_extension>();
  return make_owned<blob_extension, file_extension>(std::move(root), key, std::move(fd), size);
}

ZARRPOINT_INLINE file_extension::file_extension(std::shared_ptr<file_root> root,
                                                const store_key& key, unique_fd direct,
                                                std::uint64_t size)
    : root_(std::move(root)), key_(key), fd_(std::move(direct)), size_(size) {}

ZARRPOINT_INLINE result<void> file_extension::finish(mutable_bytes tail) {
  const std::uint64_t begin = size_ / block * block;
  const std::uint64_t end = begin + tail.size();
  if (!fd_ || tail.size() % block != 0 || end <= size_ || end > max_file_size)
    return error{errc::invalid_argument,
                 "extend " + root_->describe(key_) + ": not by whole blocks, or a second time"};
  const unique_fd fd = std::move(fd_);
  struct ::stat info {};
  if (::fstat(fd.get(), &info) != 0) return failure("extend", errno);
  if (static_cast<std::uint64_t>(info.st_size) != size_)
    return error{errc::io, "extend " + root_->describe(key_) + ": it has changed meanwhile"};
  if (const auto there = static_cast<std::size_t>(size_ - begin); there != 0) {
    // A direct read of the last block fills all of it, whatever lies behind the end.
    alignas(block) std::array<std::byte, block> last;
    const ssize_t got = retry_interrupted(
        [&] { return ::pread(fd.get(), last.data(), block, static_cast<off_t>(begin)); });
    if (got < 0) return failure("read", errno);
    if (static_cast<std::size_t>(got) < there) return failure("read", EIO);
    std::memcpy(tail.data(), last.data(), there);
  }
  // A full disk is found while nothing has changed; not all file systems of this kind can do it.
  const int reserved = retry_interrupted([&] {
    return ::fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(size_),
                       static_cast<off_t>(end - size_));
  });
  if (reserved != 0 && (errno == ENOSPC || errno == EDQUOT))
    return failure("reserve space for", errno);
  const ssize_t put = retry_interrupted(
      [&] { return ::pwrite(fd.get(), tail.data(), tail.size(), static_cast<off_t>(begin)); });
  if (put != static_cast<ssize_t>(tail.size())) {
    const int code = put < 0 ? errno : EIO;
    // Part of it may be there: without it the object is what it was.
    if (::ftruncate(fd.get(), static_cast<off_t>(size_)) != 0) return failure("truncate", errno);
    return failure("extend", code);
  }
  if (!root_->durable()) return {};
  const int code = root_->sync_file(fd.get());
  if (code == 0) return {};
  error out = failure("sync", code);
  out.code = errc::outcome_unknown;
  return out;
}

ZARRPOINT_INLINE error file_extension::failure(const char* action, int code) const {
  return system_error(action, root_->describe(key_), code);
}

}}}  // namespace zarrpoint::v0::detail
