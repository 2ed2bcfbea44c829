// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/file/kept_directories.hpp>

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE void kept_directories::drop() noexcept {
  std::vector<entry> dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(entries_);
}

ZARRPOINT_INLINE kept_directories::directory kept_directories::find(std::string_view path) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = entries_.size(); i-- > 0;) {
    if (entries_[i].path != path) continue;
    std::rotate(entries_.begin() + static_cast<std::ptrdiff_t>(i),
                entries_.begin() + static_cast<std::ptrdiff_t>(i + 1), entries_.end());
    return entries_.back().fd;
  }
  return nullptr;
}

ZARRPOINT_INLINE void kept_directories::keep(std::string_view path, directory fd) {
  entry made{std::string(path), std::move(fd)};
  entry oldest;  // closed when the lock is free again
  const std::lock_guard lock(mutex_);
  if (entries_.size() == most) {
    oldest = std::move(entries_.front());
    entries_.erase(entries_.begin());
  }
  entries_.push_back(std::move(made));
}

}}}  // namespace zarrpoint::v0::detail
