// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/error.hpp>
#include <zarrpoint/store/file/directory.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/store/file/remove_tree.hpp>

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

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

/// When anything in a file or a tree changed last. What cannot be looked through is never old.
ZARRPOINT_INLINE std::time_t last_change(int fd, int levels = 64) {
  constexpr std::time_t always = std::numeric_limits<std::time_t>::max();
  const auto newer = [](std::time_t than, const struct ::stat& info) {
    return std::max({than, info.st_mtim.tv_sec, info.st_ctim.tv_sec});
  };
  struct ::stat info {};
  if (::fstat(fd, &info) != 0) return always;
  std::time_t out = newer(0, info);
  if (!S_ISDIR(info.st_mode)) return out;
  directory_stream entries(levels == 0 ? -1 : open_at(fd, ".", O_RDONLY | O_DIRECTORY));
  if (!entries) return always;
  while (const dirent* entry = entries.next()) {
    if (::fstatat(entries.fd(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    out = newer(out, info);
    if (!S_ISDIR(info.st_mode)) continue;
    const unique_fd inner(
        open_at(entries.fd(), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    out = inner ? std::max(out, last_change(inner.get(), levels - 1)) : always;
  }
  return out;
}

/// The temporary trees and files in a directory.
ZARRPOINT_INLINE std::vector<std::string> temporary_names_in(int parent) {
  std::vector<std::string> out;
  directory_stream entries(open_at(parent, ".", O_RDONLY | O_DIRECTORY));
  if (!entries) return out;
  while (const dirent* entry = entries.next())
    for (const temporary_kind kind :
         {temporary_kind::locked, temporary_kind::unlocked, temporary_kind::aside})
      if (is_temporary_name(entry->d_name, kind)) out.emplace_back(entry->d_name);
  return out;
}

/// Whether what stepped aside for a save is all that is left of its target, or may be.
ZARRPOINT_INLINE bool is_last_copy(int parent, const std::string& name) {
  const std::string target = name.substr(1, name.size() - 1 - 5 - 32);
  return name.size() == 255 || !id_of(parent, target.c_str());
}

ZARRPOINT_INLINE std::vector<std::string> remove_abandoned(int parent, const std::string& folder,
                                                           std::time_t age) {
  std::vector<std::string> warnings;
  const std::vector<std::string> found = temporary_names_in(parent);
  if (found.empty()) return warnings;
  const bool locks = has_true_locks(parent);
  bool is_synced = false;
  for (const std::string& name : found) {
    const unique_fd tree(open_at(parent, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW));
    struct ::stat info {};
    if (!tree || ::fstat(tree.get(), &info) != 0) continue;
    if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) continue;
    const int locked = lock_file(tree.get(), LOCK_EX);
    if (locked == EWOULDBLOCK) continue;
    const bool is_dead = locks && locked == 0 && is_temporary_name(name, temporary_kind::locked);
    if (!is_dead && std::time(nullptr) - last_change(tree.get()) < age) continue;
    if (!same_file(id_of(tree.get()), id_of(parent, name.c_str()))) continue;
    if (is_temporary_name(name, temporary_kind::aside) && is_last_copy(parent, name)) {
      warnings.push_back(folder + name +
                         " was moved aside by a save that was killed before the new checkpoint had "
                         "its place; rename it to what it was, or remove it");
      continue;
    }
    // It may be the old tree of an exchange that is not on disk yet.
    const int code = is_synced ? 0 : sync_directory(parent);
    is_synced = code == 0;
    const int kept = code != 0 ? code : remove_tree(parent, name.c_str());
    // What others left is theirs to remove where we may not.
    if (kept != 0 && info.st_uid == ::geteuid())
      warnings.push_back(
          system_error("remove what an earlier save left,", folder + name, kept).message);
  }
  return warnings;
}

}}}  // namespace zarrpoint::v0::detail
