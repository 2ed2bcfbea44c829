// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/key.hpp>
#include <zarrpoint/store/posix.hpp>

#include <dirent.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>

// Opening what a key names beneath a directory, and nothing else: no `..`, no absolute path (the
// type of the key sees to these) and no symbolic link, in the last segment or before, even while
// someone else rearranges the tree.

namespace zarrpoint::inline v0::detail {

/// The kernel's `struct open_how`; its header is missing where the kernel headers are old.
struct open_how {
  std::uint64_t flags;
  std::uint64_t mode;
  std::uint64_t resolve;
};

/// How paths are confined: by `openat2` (Linux 5.6), or segment by segment where the kernel or a
/// sandbox does not let us.
enum class confinement : int { unknown, by_kernel, by_segment };

/// Whether an `openat2` that failed so will always do: the kernel or a sandbox forbids it. All
/// else, such as too many open files, says nothing about the next call.
inline bool is_lasting_refusal(int code) noexcept {
  return code == ENOSYS || code == EPERM || code == EACCES || code == EINVAL || code == E2BIG;
}

/// What this process uses, found out once. Tests set it to try both ways.
inline std::atomic<confinement>& process_confinement() noexcept {
  static std::atomic<confinement> chosen{confinement::unknown};
  return chosen;
}

inline int open_by_kernel(int root, const char* path, int flags, mode_t mode) noexcept {
#if defined(SYS_openat2)
  constexpr std::uint64_t no_magiclinks = 0x02;
  constexpr std::uint64_t no_symlinks = 0x04;
  constexpr std::uint64_t beneath = 0x08;
  const bool creates = (flags & O_CREAT) != 0;
  const open_how how{static_cast<std::uint64_t>(flags), creates ? mode : 0U,
                     beneath | no_symlinks | no_magiclinks};
  // EAGAIN: a directory on the way was renamed meanwhile.
  for (int attempt = 0;; ++attempt) {
    const long fd = ::syscall(SYS_openat2, root, path, &how, sizeof how);
    if (fd >= 0 || (errno != EINTR && errno != EAGAIN) || attempt == 100)
      return static_cast<int>(fd);
  }
#else
  static_cast<void>(root), static_cast<void>(path), static_cast<void>(flags);
  static_cast<void>(mode);
  errno = ENOSYS;
  return -1;
#endif
}

inline int open_by_segment(int root, std::string_view path, int flags, mode_t mode) noexcept {
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

/// Opens `key` beneath the directory `root`, as `openat` would; -1 and errno on failure, ELOOP when
/// a symbolic link is met. The root of the keys is the directory itself.
inline int open_beneath(int root, const store_key& key, int flags, mode_t mode = 0666) noexcept {
  std::atomic<confinement>& chosen = process_confinement();
  confinement how = chosen.load(std::memory_order_relaxed);
  if (how == confinement::unknown) {
    // Asked of a path that always opens: sandboxes answer EPERM, which could mean the file too.
    const unique_fd probe(open_by_kernel(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
    const bool lasts = probe || is_lasting_refusal(errno);
    how = probe ? confinement::by_kernel : confinement::by_segment;
    if (lasts) chosen.store(how, std::memory_order_relaxed);
  }
  flags |= O_CLOEXEC;
  const char* path = key.is_root() ? "." : key.c_str();
  return how == confinement::by_kernel ? open_by_kernel(root, path, flags, mode)
                                       : open_by_segment(root, path, flags, mode);
}

/// Opens the directory `key` beneath `root`, made with those above it where they are missing; -1
/// and errno on failure. `created(parent_fd, key)` is told of each directory that was made, by us
/// or by another writer at the same time, and returns 0 or the errno to fail with.
template <class F>
int make_directories(int root, const store_key& key, F&& created) {
  constexpr int flags = O_RDONLY | O_DIRECTORY;
  const int existing = open_beneath(root, key, flags);
  if (existing >= 0 || errno != ENOENT || key.is_root()) return existing;
  const store_key above = key.parent();
  const unique_fd parent(make_directories(root, above, created));
  if (!parent) return -1;
  const std::string name(key.name());
  const bool ours = ::mkdirat(parent.get(), name.c_str(), 0777) == 0;
  if (!ours && errno != EEXIST) return -1;
  if (const int code = created(parent.get(), key); code != 0) {
    // Nobody shall find what could not be made durable and take it for good.
    if (ours) ::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR);
    return errno = code, -1;
  }
  return open_beneath(root, key, flags);
}

/// The entries of an open directory, but for `.` and `..`; owns the descriptor.
class directory_stream {
 public:
  /// Takes `fd`; empty, with errno set, on failure.
  explicit directory_stream(int fd) noexcept : stream_(fd < 0 ? nullptr : ::fdopendir(fd)) {
    if (stream_ == nullptr && fd >= 0) {
      const int code = errno;
      ::close(fd);
      errno = code;
    }
  }
  directory_stream(const directory_stream&) = delete;
  directory_stream& operator=(const directory_stream&) = delete;
  ~directory_stream() {
    if (stream_ != nullptr) ::closedir(stream_);
  }

  explicit operator bool() const noexcept { return stream_ != nullptr; }
  int fd() const noexcept { return ::dirfd(stream_); }
  void rewind() noexcept { ::rewinddir(stream_); }

  /// The next entry; null at the end with errno 0, or with the errno of a failure.
  const dirent* next() noexcept {
    for (;;) {
      errno = 0;
      const dirent* const entry = ::readdir(stream_);
      if (entry == nullptr) return nullptr;
      const std::string_view name(entry->d_name);
      if (name != "." && name != "..") return entry;
    }
  }

 private:
  DIR* stream_;
};

}  // namespace zarrpoint::inline v0::detail
