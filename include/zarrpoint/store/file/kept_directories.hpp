// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/file/directory.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <mutex>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// An open directory that several share.
using shared_directory = std::shared_ptr<const unique_fd>;

/// Null, with errno as it was, for one that is not open.
shared_directory share_directory(unique_fd open);

/// The directories of a tree that only its owner changes, those used last. They stay open, so that
/// a file in one need not look up the way to it again. They were opened beneath the root as any
/// other is, and no link was followed.
class kept_directories {
 public:
  /// As many as threads are likely to be at work in; they count against the limit of open files.
  static constexpr std::size_t most = 32;

  /// As `make_directories`; null and errno on failure.
  template <class F>
  shared_directory make(int root, const store_key& key, F&& created) {
    std::uint64_t age = 0;
    if (shared_directory known = find(key.str(), age)) return known;
    shared_directory made = make_below(root, key, created);
    if (!made) {
      // Someone removed what is open here; or there is a reason, which the long way finds.
      age = drop();
      made = share_directory(unique_fd(make_directories(root, key, created)));
      if (!made) return {};
    }
    keep(key.str(), made, age);
    return made;
  }

  /// Forgets them, after what their names lead to has changed. What was on its way meanwhile is not
  /// kept: it has an age of before, and the new one is returned.
  std::uint64_t drop() noexcept;

 private:
  struct entry {
    std::string path;
    shared_directory open;
    std::uint64_t used = 0;  ///< when, in calls
  };

  /// The directory itself is tried first: in a new tree it is hardly ever there.
  template <class F>
  shared_directory make_below(int root, const store_key& key, F&& created) {
    constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    if (key.is_root()) return share_directory(unique_fd(open_beneath(root, key, flags)));
    const shared_directory parent = make(root, key.parent(), created);
    if (!parent) return {};
    const std::string name(key.name());
    if (::mkdirat(parent->get(), name.c_str(), 0777) != 0) {
      if (errno != EEXIST) return {};
    } else if (created(parent->get(), key) != 0) {
      ::unlinkat(parent->get(), name.c_str(), AT_REMOVEDIR);
      return {};
    }
    return share_directory(unique_fd(open_at(parent->get(), name.c_str(), flags)));
  }

  /// Null when it is not there; `age` is of now.
  shared_directory find(std::string_view path, std::uint64_t& age);
  void keep(std::string_view path, shared_directory open, std::uint64_t age);

  std::mutex mutex_;
  std::uint64_t calls_ = 0;
  std::uint64_t age_ = 0;  ///< how often they were forgotten
  entry entries_[most];
};

}}}  // namespace zarrpoint::v0::detail
