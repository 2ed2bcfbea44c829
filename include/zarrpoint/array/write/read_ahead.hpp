// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/element_source.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Items that one part of a source holds the elements of: those of `[first, first + count)`.
struct item_run {
  std::size_t first = 0;
  std::size_t count = 1;
};

/// The parts of one source, or of several, that the items of a `parallel_for` need: each is begun
/// once, some before they are needed, and dropped with the last of its items. Thread-safe.
///
/// Parts are begun in the order of their items, so that the items of those that hold room are
/// claimed before those of one that waits for it. So a thread that waits for room waits for items
/// that some thread is at work on, and never for one that waits for this thread; an item must be
/// done, or given up, without waiting for a later one.
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
  read_ahead(parts& of, std::size_t count, std::size_t ahead);

  /// An item that a thread is at work on: declared before all else that the work does.
  class item {
   public:
    item(read_ahead& of, std::size_t i)
        : of_(of), run_(of.parts_.run_of(i)), is_known_(of.claim(run_)) {}
    item(const item&) = delete;
    item& operator=(const item&) = delete;
    ~item() {
      if (is_known_) of_.done(run_);
    }

    const item_run& run() const noexcept { return run_; }
    /// The part that it belongs to, whose elements may still have to be waited for. Errors: those
    /// of the source; `resource_limit`.
    result<std::shared_ptr<source_part>> part() const {
      if (!is_known_) return error{errc::resource_limit, "no memory"};
      return of_.take(run_);
    }

   private:
    read_ahead& of_;
    const item_run run_;
    const bool is_known_;
  };

 private:
  struct entry {
    std::optional<result<std::shared_ptr<source_part>>> begun;
    std::size_t left = 0;  ///< items that are not done
  };

  result<std::shared_ptr<source_part>> take(const item_run& run);

  /// Parts that were begun after that of `run`.
  std::size_t parts_begun_ahead(const item_run& run) const;

  entry& entry_of(const item_run& run);

  /// False when there was no room. The lock is given up meanwhile.
  bool begin_next(std::unique_lock<std::mutex>& lock, bool wait);

  bool is_lost(const item_run& run) const;
  /// False where there is no memory to count the items of a part: then no item of it gets it.
  bool claim(const item_run& run);
  void done(const item_run& run);

  parts& parts_;
  const std::size_t count_;
  const std::size_t ahead_;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::map<std::size_t, entry> entries_;  // by first item
  std::size_t next_ = 0;                  // first item whose part is not begun
  std::size_t lost_ = SIZE_MAX;           // no part from this item on gets a new entry
  bool beginning_ = false;
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/array/write/impl/read_ahead_impl.hpp>
#endif
