// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/write/read_ahead.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/memory/element_source.hpp>

#include <condition_variable>
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE read_ahead::read_ahead(parts& of, std::size_t count, std::size_t ahead)
    : parts_(of), count_(count), ahead_(ahead) {}

ZARRPOINT_INLINE result<std::shared_ptr<source_part>> read_ahead::take(const item_run& run) {
  std::unique_lock lock(mutex_);
  while (next_ <= run.first) {
    if (beginning_) {
      moved_.wait(lock);
    } else {
      begin_next(lock, true);
    }
  }
  for (std::size_t i = 0; i < ahead_ && next_ < count_ && !beginning_; ++i) {
    if (parts_begun_ahead(run) >= ahead_ || !begin_next(lock, false)) break;
  }
  return *entries_.at(run.first).begun;
}

ZARRPOINT_INLINE std::size_t read_ahead::parts_begun_ahead(const item_run& run) const {
  return static_cast<std::size_t>(
      std::distance(entries_.upper_bound(run.first), entries_.lower_bound(next_)));
}

ZARRPOINT_INLINE read_ahead::entry& read_ahead::entry_of(const item_run& run) {
  const auto [at, is_new] = entries_.try_emplace(run.first);
  if (is_new) at->second.left = run.count;
  return at->second;
}

ZARRPOINT_INLINE bool read_ahead::begin_next(std::unique_lock<std::mutex>& lock, bool wait) {
  const item_run run = parts_.run_of(next_);
  ZARRPOINT_ASSERT(run.first == next_);
  if (is_lost(run)) {
    next_ += run.count;
    return true;
  }
  if (entry_of(run).left == 0) {  // its items were given up
    entries_.erase(run.first);
    next_ += run.count;
    return true;
  }
  beginning_ = true;
  lock.unlock();
  result<std::shared_ptr<source_part>> begun =
      guarded([&]() -> result<std::shared_ptr<source_part>> {
        ZARRPOINT_TRY(made, parts_.begin(run, wait));
        return std::shared_ptr<source_part>(std::move(made));
      });
  lock.lock();
  beginning_ = false;
  moved_.notify_all();
  if (begun && *begun == nullptr) return false;
  next_ += run.count;
  entry& mine = entry_of(run);
  if (mine.left == 0) {
    entries_.erase(run.first);
    lock.unlock();  // to drop a part may take a wait
    if (begun) begun->reset();
    lock.lock();
  } else {
    mine.begun.emplace(std::move(begun));
  }
  return true;
}

ZARRPOINT_INLINE bool read_ahead::is_lost(const item_run& run) const {
  return run.first >= lost_ && !entries_.contains(run.first);
}

ZARRPOINT_INLINE bool read_ahead::claim(const item_run& run) {
  const std::lock_guard lock(mutex_);
  if (is_lost(run)) return false;
  const auto made = guarded([&]() -> result<void> { return entry_of(run), result<void>(); });
  if (!made) lost_ = run.first;
  return made.has_value();
}

ZARRPOINT_INLINE void read_ahead::done(const item_run& run) {
  std::map<std::size_t, entry>::node_type dropped;  // after the lock: it may wait
  const std::lock_guard lock(mutex_);
  if (--entry_of(run).left == 0 && run.first < next_) dropped = entries_.extract(run.first);
}

}}}  // namespace zarrpoint::v0::detail
