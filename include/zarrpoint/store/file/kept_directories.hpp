// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/file/directory.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The directories of a tree that only its owner changes, those used last: they stay open, so that
/// a file in one need not look up the way to it again. They were opened beneath the root as any
/// other is, each from the one above it, and no link was followed.
class kept_directories {
 public:
  using directory = std::shared_ptr<const unique_fd>;

  /// As many as threads are likely to be at work in; they count against the limit of open files.
  static constexpr std::size_t most = 32;

  /// As `make_directories`; null and errno on failure.
  template <class F>
  directory make(int root, const store_key& key, F&& created) {
    if (directory known = find(key.str())) return known;
    directory made = make_below(root, key, created);
    if (made == nullptr) {
      // Someone removed what is open here; or there is a reason, which the long way finds.
      drop();
      unique_fd fd(make_directories(root, key, created));
      if (!fd) return nullptr;
      made = std::make_shared<const unique_fd>(std::move(fd));
    }
    keep(key.str(), made);
    return made;
  }

  /// Forgets them: what their names lead to may change.
  void drop() noexcept;

 private:
  struct entry {
    std::string path;
    directory fd;
  };

  /// The directory itself is tried first: in a new tree it is hardly ever there.
  template <class F>
  directory make_below(int root, const store_key& key, F&& created) {
    constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    if (key.is_root()) return opened(open_beneath(root, key, flags));
    const directory parent = make(root, key.parent(), created);
    if (parent == nullptr) return nullptr;
    const std::string name(key.name());
    if (::mkdirat(parent->get(), name.c_str(), 0777) != 0) {
      if (errno != EEXIST) return nullptr;
    } else if (created(parent->get(), key) != 0) {
      ::unlinkat(parent->get(), name.c_str(), AT_REMOVEDIR);
      return nullptr;
    }
    return opened(open_at(parent->get(), name.c_str(), flags));
  }

  static directory opened(int fd) {
    unique_fd owned(fd);
    return owned ? std::make_shared<const unique_fd>(std::move(owned)) : nullptr;
  }

  directory find(std::string_view path);
  void keep(std::string_view path, directory fd);

  std::mutex mutex_;
  std::vector<entry> entries_;  ///< the one used last is the last
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/store/file/impl/kept_directories_impl.hpp>
#endif
