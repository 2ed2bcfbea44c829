// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/file/direct_writes.hpp>
#include <zarrpoint/store/file/directory.hpp>
#include <zarrpoint/store/file/file_root.hpp>
#include <zarrpoint/store/file/kept_directories.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <sys/utsname.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE bool syncfs_is_reliable(int fd) noexcept {
  struct ::utsname kernel {};
  int major = 0, minor = 0;
  if (::uname(&kernel) != 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2)
    return false;
  if (major < 5 || (major == 5 && minor < 8)) return false;
  struct ::statfs info {};
  if (::fstatfs(fd, &info) != 0) return false;
  // statfs(2): ext4, XFS, btrfs, F2FS, tmpfs.
  constexpr std::array<std::uint32_t, 5> types = {0xef53, 0x58465342, 0x9123683e, 0xf2f52010,
                                                  0x01021994};
  return std::find(types.begin(), types.end(), static_cast<std::uint32_t>(info.f_type)) !=
         types.end();
}

ZARRPOINT_INLINE file_root::file_root(unique_fd directory, std::string path, file_store_options how)
    : fd_(std::move(directory)), name_(std::move(path)), options_(how) {}

ZARRPOINT_INLINE std::shared_ptr<file_root> file_root::staged(unique_fd directory, std::string path,
                                                              bool durable) {
  const int fd = directory.get();
  auto out = detail::make_counted<file_root>(std::move(directory), std::move(path),
                                             file_store_options{.atomic = false});
  out->durable_tree_ = durable;
  out->keeps_directories_ = true;
  out->syncs_as_one_ = durable && syncfs_is_reliable(fd);
  return out;
}

ZARRPOINT_INLINE temporary_kind file_root::owner_kind() noexcept {
  int known = has_locks_.load(std::memory_order_relaxed);
  if (known < 0) has_locks_.store(known = has_true_locks(fd()) ? 1 : 0, std::memory_order_relaxed);
  return known != 0 ? temporary_kind::locked : temporary_kind::unlocked;
}

ZARRPOINT_INLINE std::string file_root::describe(const store_key& key) const {
  if (key.is_root()) return name_;
  std::string text = name_;
  if (!text.ends_with('/')) text += '/';
  return text.append(key.str());
}

ZARRPOINT_INLINE int file_root::open(const store_key& key, int flags) const noexcept {
  return options_.follow_links == link_scope::none
             ? open_beneath(fd(), key, flags)
             : open_through_links(fd(), key, flags, options_.follow_links);
}

ZARRPOINT_INLINE error file_root::open_failure(const char* action, const store_key& key,
                                               int code) const {
  error out = system_error(action, describe(key), code);
  if (options_.follow_links == link_scope::none) return out;
  const char* const why = code == ELOOP     ? "its symbolic links lead in a circle"
                          : code == EXDEV   ? "a symbolic link leads out of the store"
                          : code == ENOLINK ? "a symbolic link leads nowhere"
                                            : nullptr;
  if (why != nullptr)
    out.message = std::string(action).append(" ").append(describe(key)).append(": ").append(why);
  return out;
}

ZARRPOINT_INLINE unique_fd file_root::parent_of(const store_key& key, bool sync) {
  std::unique_lock lock(mutex_, std::defer_lock);
  // What one thread has made and not yet synced, no other may find and call durable.
  if (sync) lock.lock();
  return unique_fd(make_directories(fd(), key.parent(), [&](int parent, const store_key& made) {
    if (sync) return sync_directory(parent);
    const std::lock_guard guard(mutex_);
    if (durable_tree_) made_.push_back(made);
    return 0;
  }));
}

ZARRPOINT_INLINE shared_directory file_root::shared_parent_of(const store_key& key) {
  if (!keeps_directories_.load(std::memory_order_relaxed))
    return share_directory(parent_of(key, options_.sync));
  return kept_.make(fd(), key.parent(), [&](int, const store_key& made) {
    const std::lock_guard guard(mutex_);
    if (durable_tree_) made_.push_back(made);
    return 0;
  });
}

ZARRPOINT_INLINE int file_root::sync_file(int file) noexcept {
  const bool few = synced_.fetch_add(1, std::memory_order_relaxed) < few_files;
  if (syncs_as_one_ && !few) {
    unsynced_.store(true, std::memory_order_relaxed);
    return 0;
  }
  return note(retry_interrupted([&] { return ::fdatasync(file); }) == 0 ? 0 : errno);
}

ZARRPOINT_INLINE int file_root::sync_tree() noexcept {
  if (const int code = failed_.load(std::memory_order_relaxed); code != 0) return code;
  if (unsynced_.load(std::memory_order_relaxed))
    return note(retry_interrupted([&] { return ::syncfs(fd()); }) == 0
                    ? 0
                    : errno);  // directories included
  const std::lock_guard lock(mutex_);
  // In any order: the tree is published when all of them are on disk.
  for (const store_key& key : made_) {
    const unique_fd directory(open_beneath(fd(), key, O_RDONLY | O_DIRECTORY));
    const int code = directory ? sync_directory(directory.get()) : errno;
    if (code != 0) return note(code);
  }
  return note(sync_directory(fd()));
}

ZARRPOINT_INLINE int file_root::note(int code) noexcept {
  if (code != 0) failed_.store(code, std::memory_order_relaxed);
  return code;
}

}}}  // namespace zarrpoint::v0::detail
