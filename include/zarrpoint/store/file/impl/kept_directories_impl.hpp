// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/file/kept_directories.hpp>

#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE shared_directory::shared_directory(unique_fd fd) {
  if (fd) held_ = new held{std::move(fd)};
}

ZARRPOINT_INLINE shared_directory::shared_directory(const shared_directory& other) noexcept
    : held_(other.held_) {
  if (held_ != nullptr) held_->users.fetch_add(1, std::memory_order_relaxed);
}

ZARRPOINT_INLINE shared_directory& shared_directory::operator=(shared_directory other) noexcept {
  held* const mine = held_;
  held_ = other.held_;
  other.held_ = mine;
  return *this;
}

ZARRPOINT_INLINE shared_directory::~shared_directory() {
  if (held_ != nullptr && held_->users.fetch_sub(1, std::memory_order_acq_rel) == 1) delete held_;
}

ZARRPOINT_INLINE void kept_directories::drop() noexcept {
  const std::lock_guard lock(mutex_);
  for (entry& each : entries_) each.open = shared_directory();
}

ZARRPOINT_INLINE shared_directory kept_directories::find(std::string_view path) {
  const std::lock_guard lock(mutex_);
  for (entry& each : entries_) {
    if (!each.open || each.path != path) continue;
    each.used = ++calls_;
    return each.open;
  }
  return {};
}

ZARRPOINT_INLINE void kept_directories::keep(std::string_view path, shared_directory open) {
  std::string owned(path);
  const std::lock_guard lock(mutex_);
  entry* place = entries_;
  for (entry& each : entries_) {
    if (!each.open) each.used = 0;
    if (each.used < place->used) place = &each;
  }
  place->path.swap(owned);
  place->open = open;
  place->used = ++calls_;
}

}}}  // namespace zarrpoint::v0::detail
