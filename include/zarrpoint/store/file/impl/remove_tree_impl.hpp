// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/file/directory.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/store/file/remove_tree.hpp>

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Removes a file, a link or an empty directory.
ZARRPOINT_INLINE bool remove_entry(int parent, const char* name) noexcept {
  return ::unlinkat(parent, name, 0) == 0 || ::unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

/// Opens a directory to remove what is in it. Its owner may do that from then on: modes that forbid
/// it bind all but root. -1 on failure.
ZARRPOINT_INLINE int open_to_remove(int parent, const char* name) noexcept {
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  int fd = open_at(parent, name, flags);
  if (fd < 0 && errno == EACCES && ::fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
    fd = open_at(parent, name, flags);
  struct ::stat info {};
  if (fd >= 0 && ::fstat(fd, &info) == 0 && (info.st_mode & 0700) != 0700)
    static_cast<void>(::fchmod(fd, 0700));
  return fd;
}

/// A directory that its owner may not write to can be moved to no other parent.
ZARRPOINT_INLINE bool raise_entry(int from, const char* name, int to, const char* raised) noexcept {
  if (::renameat(from, name, to, raised) == 0) return true;
  if (errno != EACCES) return false;
  const unique_fd opened(open_to_remove(from, name));
  return opened && ::renameat(from, name, to, raised) == 0;
}

/// Names that nothing in a tree has, without the memory of a string.
class raised_names {
 public:
  const char* next() noexcept {
    std::snprintf(text_.data(), text_.size(), "%016jx%016jx.%ju", std::uintmax_t{bits_[0]},
                  std::uintmax_t{bits_[1]}, std::uintmax_t{counter_++});
    return text_.data();
  }

 private:
  std::array<std::uint64_t, 2> bits_ = random_bits();
  std::uint64_t counter_ = 0;
  std::array<char, 64> text_{};
};

/// Removes what is in `top` and can be removed without a look into it, and moves up what lies in
/// its directories, so that a tree of any depth takes two descriptors and no recursion. Returns
/// whether anything changed; `code` is why something stayed.
ZARRPOINT_INLINE bool remove_or_raise_entries(directory_stream& top, raised_names& names,
                                              int& code) noexcept {
  bool changed = false;
  top.rewind();
  while (const dirent* entry = top.next()) {
    if (remove_entry(top.fd(), entry->d_name)) {
      changed = true;
      continue;
    }
    directory_stream inner(open_to_remove(top.fd(), entry->d_name));
    if (!inner) {
      // Of a file: asked again, for the reason.
      code = errno == ENOTDIR && ::unlinkat(top.fd(), entry->d_name, 0) != 0 ? errno : ENOTEMPTY;
      continue;
    }
    while (const dirent* child = inner.next()) {
      if (remove_entry(inner.fd(), child->d_name) ||
          raise_entry(inner.fd(), child->d_name, top.fd(), names.next())) {
        changed = true;
      } else {
        code = errno;
      }
    }
    if (::unlinkat(top.fd(), entry->d_name, AT_REMOVEDIR) == 0) changed = true;
  }
  return changed;
}

ZARRPOINT_INLINE int remove_tree(int parent, const char* name) noexcept {
  if (remove_entry(parent, name)) return 0;
  int code = 0;
  {
    directory_stream top(open_to_remove(parent, name));
    if (!top) return errno == ENOENT ? 0 : errno;
    // A reader that still has it open shall not take what is left for a whole hierarchy.
    for (const char* document : {"zarr.json", ".zgroup", ".zarray"})
      ::unlinkat(top.fd(), document, 0);
    raised_names names;
    while (remove_or_raise_entries(top, names, code)) {
    }
  }
  if (::unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return 0;
  return code != 0 && (errno == ENOTEMPTY || errno == EEXIST) ? code : errno;
}

}}}  // namespace zarrpoint::v0::detail
