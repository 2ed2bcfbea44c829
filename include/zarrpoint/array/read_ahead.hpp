// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

namespace zarrpoint::inline v0::detail {

/// Items that one part of a source holds the elements of: those of `[first, first + count)`.
struct item_run {
  std::size_t first = 0;
  std::size_t count = 1;
};

/// The parts of one source, or of several, that the items of a `parallel_for` need: each is begun
/// once, some before they are needed, and dropped with the last of its items. Thread-safe.
///
/// Parts are begun in the order of their items, so that the items of those that hold room are
/// claimed before those of one that waits for it. So whoever waits for room waits for items that
/// some thread is at work on, and never for one that waits for himself; an item must be done, or
/// given up, without waiting for a later one.
class read_ahead {
 public:
  /// What the parts are, and how one is begun.
  class parts {
   public:
    /// The run that item `i` belongs to: runs follow one another.
    virtual item_run run_of(std::size_t i) const = 0;
    /// See `element_source::begin`.
    virtual result<std::unique_ptr<source_part>> begin(const item_run& run, bool wait) = 0;

   protected:
    ~parts() = default;
  };

  /// `count` items. `ahead`: parts that are begun, where there is room, beyond the one asked for.
  read_ahead(parts& of, std::size_t count, std::size_t ahead)
      : parts_(of), count_(count), ahead_(ahead) {}

  /// An item that a thread is at work on: declared before all else that the work does.
  class item {
   public:
    item(read_ahead& of, std::size_t i) : of_(of), run_(of.parts_.run_of(i)) {}
    item(const item&) = delete;
    item& operator=(const item&) = delete;
    ~item() { of_.done(run_); }

    const item_run& run() const noexcept { return run_; }
    /// The part that it belongs to, whose elements may still have to be waited for.
    result<std::shared_ptr<source_part>> part() const { return of_.take(run_); }

   private:
    read_ahead& of_;
    const item_run run_;
  };

 private:
  struct entry {
    std::optional<result<std::shared_ptr<source_part>>> begun;
    std::size_t left = 0;  ///< items that are not done
  };

  result<std::shared_ptr<source_part>> take(const item_run& run) {
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

  /// Parts that were begun after that of `run`.
  std::size_t parts_begun_ahead(const item_run& run) const {
    return static_cast<std::size_t>(
        std::distance(entries_.upper_bound(run.first), entries_.lower_bound(next_)));
  }

  entry& entry_of(const item_run& run) {
    const auto [at, is_new] = entries_.try_emplace(run.first);
    if (is_new) at->second.left = run.count;
    return at->second;
  }

  /// False when there was no room. The lock is given up meanwhile.
  bool begin_next(std::unique_lock<std::mutex>& lock, bool wait) {
    const item_run run = parts_.run_of(next_);
    ZARRPOINT_ASSERT(run.first == next_);
    if (entry_of(run).left == 0) {  // its items were given up
      entries_.erase(run.first);
      next_ += run.count;
      return true;
    }
    beginning_ = true;
    lock.unlock();
    result<std::unique_ptr<source_part>> begun = guarded([&] { return parts_.begin(run, wait); });
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
    } else if (begun) {
      mine.begun.emplace(std::shared_ptr<source_part>(*std::move(begun)));
    } else {
      mine.begun.emplace(std::move(begun).failure());
    }
    return true;
  }

  void done(const item_run& run) {
    std::map<std::size_t, entry>::node_type dropped;  // after the lock: it may wait
    const std::lock_guard lock(mutex_);
    if (--entry_of(run).left == 0 && run.first < next_) dropped = entries_.extract(run.first);
  }

  parts& parts_;
  const std::size_t count_;
  const std::size_t ahead_;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::map<std::size_t, entry> entries_;  // by first item
  std::size_t next_ = 0;                  // first item whose part is not begun
  bool beginning_ = false;
};

}  // namespace zarrpoint::inline v0::detail
