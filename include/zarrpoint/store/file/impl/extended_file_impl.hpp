// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/file/directory.hpp>
#include <zarrpoint/store/file/extended_file.hpp>
#include <zarrpoint/store/file/file_root.hpp>

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Whether direct writes of whole blocks go to the disk as they are. Kernels before 6.1 cannot
/// tell.
ZARRPOINT_INLINE bool takes_direct_blocks(int fd) noexcept {
#ifdef STATX_DIOALIGN
  struct ::statx info {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) != 0) return false;
  const auto fits = [](std::uint32_t alignment) {
    return alignment != 0 && blob_extension::block % alignment == 0;
  };
  return (info.stx_mask & STATX_DIOALIGN) != 0 && fits(info.stx_dio_mem_align) &&
         fits(info.stx_dio_offset_align) && (info.stx_attributes & STATX_ATTR_DAX) == 0;
#else
  static_cast<void>(fd);
  return false;
#endif
}

/// Whether a direct write beyond the end of a file changes its size once, and last.
ZARRPOINT_INLINE bool grows_in_one_step(int fd) noexcept {
  struct ::statfs system {};
  int flags = 0;
  return ::fstatfs(fd, &system) == 0 && static_cast<std::uint32_t>(system.f_type) == 0xef53 &&
         static_cast<std::uint64_t>(system.f_bsize) <= blob_extension::block &&
         ::ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_EXTENT_FL) != 0 &&
         takes_direct_blocks(fd);
}

/// Whether ext4 has a journal on this device, without which a power cut may tear what is changed.
ZARRPOINT_INLINE bool has_journal(dev_t device) {
  const std::string link = "/sys/dev/block/" + std::to_string(::gnu_dev_major(device)) + ":" +
                           std::to_string(::gnu_dev_minor(device));
  std::array<char, 4096> target{};
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  if (size <= 0) return false;
  const std::string path(target.data(), static_cast<std::size_t>(size));
  const std::string name = path.substr(path.rfind('/') + 1);
  return ::access(("/sys/fs/ext4/" + name + "/journal_task").c_str(), F_OK) == 0;
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_extension>> extended_file::open(
    std::shared_ptr<file_root> root, const store_key& key, const blob& before) {
  if (before.descriptor() < 0) return std::unique_ptr<blob_extension>();
  // Where it cannot be opened so, it can be replaced, or that tells why not.
  unique_fd fd(open_beneath(root->fd(), key, O_RDWR | O_DIRECT | O_NONBLOCK));
  // An object that is looked at under the lock stays as it is for other writers that extend it.
  if (!fd || !grows_in_one_step(fd.get()) || lock_file(fd.get(), LOCK_EX) != 0 ||
      !same_file(id_of(fd.get()), id_of(before.descriptor())))
    return std::unique_ptr<blob_extension>();
  struct ::stat info {};
  if (::fstat(fd.get(), &info) != 0 || info.st_nlink != 1 ||
      static_cast<std::uint64_t>(info.st_size) != before.size() ||
      (root->durable() && !has_journal(info.st_dev)))
    return std::unique_ptr<blob_extension>();
  return make_owned<blob_extension, extended_file>(std::move(root), key, std::move(fd),
                                                   before.size());
}

ZARRPOINT_INLINE extended_file::extended_file(std::shared_ptr<file_root> root, const store_key& key,
                                              unique_fd direct, std::uint64_t size)
    : root_(std::move(root)), key_(key), fd_(std::move(direct)), size_(size) {}

ZARRPOINT_INLINE result<void> extended_file::finish(bytes_view more) {
  const std::uint64_t begin = (size_ + block - 1) / block * block;
  const std::uint64_t end = begin + more.size();
  if (!fd_ || more.empty() || more.size() % block != 0 || end > max_file_size)
    return error{errc::invalid_argument,
                 "extend " + root_->describe(key_) + ": not by whole blocks, or a second time"};
  const unique_fd fd = std::move(fd_);
  struct ::stat info {};
  if (::fstat(fd.get(), &info) != 0) return failure("extend", errno);
  if (static_cast<std::uint64_t>(info.st_size) != size_ || info.st_nlink != 1)
    return error{errc::io, "extend " + root_->describe(key_) + ": it has changed meanwhile"};
  // What would cut the write short is found while nothing has changed.
  struct ::rlimit most {};
  if (::getrlimit(RLIMIT_FSIZE, &most) == 0 && end > most.rlim_cur) return failure("extend", EFBIG);
  const int reserved = retry_interrupted([&] {
    return ::fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                       static_cast<off_t>(more.size()));
  });
  if (reserved != 0) return taken_back(fd.get(), "reserve space for", errno);
  const ssize_t put = retry_interrupted(
      [&] { return ::pwrite(fd.get(), more.data(), more.size(), static_cast<off_t>(begin)); });
  if (put != static_cast<ssize_t>(more.size()))
    return taken_back(fd.get(), "extend", put < 0 ? errno : EIO);
  const int code = root_->durable() ? root_->sync_file(fd.get()) : 0;
  if (code == 0) return {};
  error out = failure("sync", code);
  out.code = errc::outcome_unknown;
  return out;
}

ZARRPOINT_INLINE error extended_file::failure(const char* action, int code) const {
  return system_error(action, root_->describe(key_), code);
}

ZARRPOINT_INLINE error extended_file::taken_back(int fd, const char* action, int code) const {
  error out = failure(action, code);
  if (::ftruncate(fd, static_cast<off_t>(size_)) != 0) out.code = errc::outcome_unknown;
  return out;
}

}}}  // namespace zarrpoint::v0::detail
