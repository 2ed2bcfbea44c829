// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/error.hpp>
#include <zarrpoint/store/file/abandoned.hpp>
#include <zarrpoint/store/file/directory.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/store/file/remove_tree.hpp>

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

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
