// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/file/directory.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <dirent.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The kernel's `struct open_how`; its header is missing where the kernel headers are old.
struct open_how {
  std::uint64_t flags;
  std::uint64_t mode;
  std::uint64_t resolve;
};

/// Whether an `openat2` that failed so will always do: the kernel or a sandbox forbids it. All
/// else, such as too many open files, says nothing about the next call.
ZARRPOINT_INLINE bool is_lasting_refusal(int code) noexcept {
  return code == ENOSYS || code == EPERM || code == EACCES || code == EINVAL || code == E2BIG;
}

ZARRPOINT_INLINE std::atomic<confinement>& process_confinement() noexcept {
  static std::atomic<confinement> chosen{confinement::unknown};
  return chosen;
}

// RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS, and RESOLVE_NO_SYMLINKS with them.
inline constexpr std::uint64_t beneath_through_links = 0x08 | 0x02;
inline constexpr std::uint64_t beneath_without_links = beneath_through_links | 0x04;

ZARRPOINT_INLINE int open_by_kernel(int root, const char* path, int flags, mode_t mode,
                                    std::uint64_t resolve = beneath_without_links) noexcept {
#if defined(SYS_openat2)
  const bool creates = (flags & O_CREAT) != 0;
  const open_how how{static_cast<std::uint64_t>(flags), creates ? mode : 0U, resolve};
  // EAGAIN: a directory on the way was renamed meanwhile.
  for (int attempt = 0;; ++attempt) {
    const long fd = ::syscall(SYS_openat2, root, path, &how, sizeof how);
    if (fd >= 0 || (errno != EINTR && errno != EAGAIN) || attempt == 100)
      return static_cast<int>(fd);
  }
#else
  static_cast<void>(root), static_cast<void>(path), static_cast<void>(flags);
  static_cast<void>(mode), static_cast<void>(resolve);
  errno = ENOSYS;
  return -1;
#endif
}

ZARRPOINT_INLINE int open_by_segment(int root, std::string_view path, int flags,
                                     mode_t mode) noexcept {
  unique_fd at;
  for (;;) {
    const int base = at ? at.get() : root;
    const std::size_t slash = path.find('/');
    const std::string segment(path.substr(0, slash));
    const bool last = slash == std::string_view::npos;
    const int how = last ? flags : O_PATH | O_DIRECTORY | O_CLOEXEC;
    const int fd =
        retry_interrupted([&] { return ::openat(base, segment.c_str(), how | O_NOFOLLOW, mode); });
    if (fd < 0 && errno == ENOTDIR) {
      // O_DIRECTORY and O_NOFOLLOW together call a symbolic link "not a directory".
      struct ::stat info {};
      const bool link = ::fstatat(base, segment.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                        S_ISLNK(info.st_mode);
      errno = link ? ELOOP : ENOTDIR;
    }
    if (last || fd < 0) return fd;
    at = unique_fd(fd);
    path.remove_prefix(slash + 1);
  }
}

ZARRPOINT_INLINE bool confines_by_kernel(int root) noexcept {
  std::atomic<confinement>& chosen = process_confinement();
  confinement how = chosen.load(std::memory_order_relaxed);
  if (how == confinement::unknown) {
    // Asked of a path that always opens: sandboxes answer EPERM, which could mean the file too.
    const unique_fd probe(open_by_kernel(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
    const bool lasts = probe || is_lasting_refusal(errno);
    how = probe ? confinement::by_kernel : confinement::by_segment;
    if (lasts) chosen.store(how, std::memory_order_relaxed);
  }
  return how == confinement::by_kernel;
}

ZARRPOINT_INLINE int open_beneath(int root, const store_key& key, int flags, mode_t mode) noexcept {
  flags |= O_CLOEXEC;
  const char* path = key.is_root() ? "." : key.c_str();
  return confines_by_kernel(root) ? open_by_kernel(root, path, flags, mode)
                                  : open_by_segment(root, path, flags, mode);
}

ZARRPOINT_INLINE int open_in_scope(int root, const char* path, int flags,
                                   link_scope scope) noexcept {
  flags |= O_CLOEXEC;
  if (scope == link_scope::beneath_root)
    return open_by_kernel(root, path, flags, 0, beneath_through_links);
  return retry_interrupted([&] { return ::openat(root, path, flags); });
}

/// Whether what is not there is so because a link on the way leads nowhere.
ZARRPOINT_INLINE bool has_broken_link(int root, std::string_view path, link_scope scope) noexcept {
  std::array<char, 1025> text{};  // no key is longer
  for (std::size_t i = 0; i <= path.size(); ++i) {
    if (i == path.size() || path[i] == '/') {
      const unique_fd there(open_in_scope(root, text.data(), O_PATH, scope));
      if (!there)
        return unique_fd(open_in_scope(root, text.data(), O_PATH | O_NOFOLLOW, scope)).get() >= 0;
    }
    if (i < path.size()) text[i] = path[i];
  }
  return false;
}

ZARRPOINT_INLINE int open_through_links(int root, const store_key& key, int flags,
                                        link_scope scope) noexcept {
  const char* path = key.is_root() ? "." : key.c_str();
  const int fd = open_in_scope(root, path, flags, scope);
  if (fd < 0 && errno == ENOENT) errno = has_broken_link(root, path, scope) ? ENOLINK : ENOENT;
  return fd;
}

ZARRPOINT_INLINE directory_stream::directory_stream(int fd) noexcept
    : stream_(fd < 0 ? nullptr : ::fdopendir(fd)) {
  if (stream_ == nullptr && fd >= 0) {
    const int code = errno;
    ::close(fd);
    errno = code;
  }
}

ZARRPOINT_INLINE directory_stream::~directory_stream() {
  if (stream_ != nullptr) ::closedir(stream_);
}

ZARRPOINT_INLINE const dirent* directory_stream::next() noexcept {
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(stream_);
    if (entry == nullptr) return nullptr;
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") return entry;
  }
}

}}}  // namespace zarrpoint::v0::detail
