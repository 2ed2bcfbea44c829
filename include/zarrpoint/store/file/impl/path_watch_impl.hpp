// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/file/path_watch.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <fcntl.h>

#include <cerrno>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE path_watch::path_watch(const std::string& path)
    : named_(open_at(AT_FDCWD, path.c_str(), O_PATH)) {}

ZARRPOINT_INLINE bool path_watch::is_other(const std::string& path) {
  if (looks_++ == most_looks) return false;
  if (named_ && same_file(id_of(named_.get()), id_of(path.c_str()))) return false;
  named_ = unique_fd(open_at(AT_FDCWD, path.c_str(), O_PATH));
  return static_cast<bool>(named_);
}

ZARRPOINT_INLINE bool path_watch::look_again(const std::string& path) {
  errno = 0;
  if (is_other(path)) return true;
  if (named_) return false;
  if (errno != ENOENT || waits_++ == most_waits) return false;
  wait_a_moment();
  return true;
}

}}}  // namespace zarrpoint::v0::detail
