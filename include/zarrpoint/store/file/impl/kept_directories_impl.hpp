// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/store/file/kept_directories.hpp>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE shared_directory share_directory(unique_fd open) {
  return open ? make_counted<const unique_fd>(std::move(open)) : nullptr;
}

ZARRPOINT_INLINE std::uint64_t kept_directories::drop() noexcept {
  const std::lock_guard lock(mutex_);
  for (entry& each : entries_) each.open.reset();
  return ++age_;
}

ZARRPOINT_INLINE shared_directory kept_directories::find(std::string_view path,
                                                         std::uint64_t& age) {
  const std::lock_guard lock(mutex_);
  age = age_;
  for (entry& each : entries_) {
    if (!each.open || each.path != path) continue;
    each.used = ++calls_;
    return each.open;
  }
  return {};
}

ZARRPOINT_INLINE void kept_directories::keep(std::string_view path, shared_directory open,
                                             std::uint64_t age) {
  std::string owned(path);
  const std::lock_guard lock(mutex_);
  if (age != age_) return;
  entry* place = entries_;
  for (entry& each : entries_) {
    if (!each.open) each.used = 0;
    if (each.used < place->used) place = &each;
  }
  place->path.swap(owned);
  place->open = std::move(open);
  place->used = ++calls_;
}

}}}  // namespace zarrpoint::v0::detail
