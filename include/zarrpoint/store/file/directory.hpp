// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/file/file_options.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <dirent.h>
#include <sys/stat.h>

#include <atomic>

// Opening what a key names beneath a directory, and nothing else. It meets no `..` and no absolute
// path, which the type of the key sees to. It follows no symbolic link, in the last segment or
// before, even while someone else rearranges the tree.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// How paths are confined: by `openat2` (Linux 5.6), or segment by segment where the kernel or a
/// sandbox does not let us.
enum class confinement : int { unknown, by_kernel, by_segment };

/// What this process uses, found out once. Tests set it to try both ways.
std::atomic<confinement>& process_confinement() noexcept;

/// Opens `key` beneath the directory `root`, as `openat` would; -1 and errno on failure, ELOOP when
/// a symbolic link is met. The root of the keys is the directory itself.
int open_beneath(int root, const store_key& key, int flags, mode_t mode = 0666) noexcept;

/// Whether `beneath_root` can be had: no link is followed segment by segment.
bool confines_by_kernel(int root) noexcept;

/// Opens `key` as `openat` would, through the symbolic links of a scope other than `none`. It is -1
/// and errno on failure: ENOLINK when a link leads nowhere, ELOOP when links lead in a circle,
/// EXDEV when one leads out of `beneath_root`.
int open_through_links(int root, const store_key& key, int flags, link_scope scope) noexcept;

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
  explicit directory_stream(int fd) noexcept;
  directory_stream(const directory_stream&) = delete;
  directory_stream& operator=(const directory_stream&) = delete;
  ~directory_stream();

  explicit operator bool() const noexcept { return stream_ != nullptr; }
  int fd() const noexcept { return ::dirfd(stream_); }
  void rewind() noexcept { ::rewinddir(stream_); }

  /// The next entry; null at the end with errno 0, or with the errno of a failure.
  const dirent* next() noexcept;

 private:
  DIR* stream_;
};

}}}  // namespace zarrpoint::v0::detail
