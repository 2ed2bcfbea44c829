// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/options.hpp>
#include <zarrpoint/array/grid/plan.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/element_source.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Items that one part of a source holds the elements of: those of `[first, first + count)`.
struct item_run {
  std::size_t first = 0;
  std::size_t count = 1;
};

/// The parts of one source, or of several, that the items of a `parallel_for` need. Each is begun
/// once, some before they are needed, and dropped with the last of its items. Thread-safe.
///
/// Parts are begun in the order of their items, so that the items of those that hold room are
/// claimed before those of one that waits for it. So a thread that waits for room waits for items
/// that some thread is at work on, and never for one that waits for this thread. An item must be
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
  read_ahead(parts& of, std::size_t count, std::size_t ahead)
      : parts_(of), count_(count), ahead_(ahead) {}

  /// An item that a thread is at work on: declared before all else that the work does.
  class item {
   public:
    item(read_ahead& of, std::size_t i)
        : of_(of), run_(of.parts_.run_of(i)), number_(i - run_.first), is_known_(of.claim(run_)) {}
    item(const item&) = delete;
    item& operator=(const item&) = delete;
    ~item() {
      if (is_known_) of_.done(run_);
    }

    const item_run& run() const noexcept { return run_; }
    /// Its place in the run.
    std::size_t number() const noexcept { return number_; }
    /// The part that it belongs to, whose elements may still have to be waited for. Errors: those
    /// of the source; `resource_limit`.
    result<std::shared_ptr<source_part>> part() const {
      if (!is_known_) return error{errc::resource_limit, "no memory"};
      return of_.take(run_);
    }

   private:
    read_ahead& of_;
    const item_run run_;
    const std::size_t number_;
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

  bool is_lost(const item_run& run) const {
    return run.first >= lost_ && !entries_.contains(run.first);
  }
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

/// A box of a source as a source of its own.
class source_box final : public element_source {
 public:
  source_box(element_source& whole, const box& part);

  const tensor_spec& spec() const noexcept override { return spec_; }
  std::size_t part_bytes() const override { return whole_.part_bytes(); }
  const void* lane() const noexcept override { return whole_.lane(); }
  double pin_seconds() const override { return whole_.pin_seconds(); }
  ZARRPOINT_NO_KEY result<std::unique_ptr<source_part>> begin(const box& part, bool wait) override {
    return whole_.begin(in_whole(part), wait);
  }
  ZARRPOINT_NO_KEY result<std::unique_ptr<source_part>> begin_stored(const chunk_request& of,
                                                                     bool wait) override {
    chunk_request asked = of;
    asked.part = in_whole(of.part);
    for (box& one : asked.chunks) one = in_whole(one);
    return whole_.begin_stored(asked, wait);
  }
  ZARRPOINT_NO_KEY result<owned_elements> read(const box& part,
                                               memory_resource& resource) override {
    return whole_.read(in_whole(part), resource);
  }

 private:
  box in_whole(box part) const;
  element_source& whole_;
  const box part_;
  const tensor_spec spec_;
};

/// The elements of one inner chunk of a write, and what keeps them.
struct item_elements {
  host_view view;
  std::shared_ptr<const void> kept{};  ///< null: the caller does
  bytes_view memory{};                 ///< the elements are somewhere in it, if it is kept
  std::optional<bytes_view> stored{};  ///< in place of elements: see `source_part::stored`

  /// Whether these bytes are the elements themselves.
  bool holds(bytes_view bytes) const noexcept;
};

/// Gives the inner chunks of a write their elements from a source. Neighbours are read together, as
/// many as a part of the source may hold, so that copies are large and many workers have something
/// to do in one part. An inner chunk that no part can hold is read alone.
class source_reader final : private read_ahead::parts {
 public:
  source_reader(element_source& from, const array_state& of, const box_plan& plan,
                const write_options& options);

  /// The memory that the elements of an inner chunk take from the resource.
  std::size_t cost() const noexcept { return alone_ ? chunk_bytes_ : 0; }

  /// To be held for as long as an inner chunk is worked on.
  read_ahead::item claim(std::size_t i) { return {ahead_, i}; }

  /// Waits until `elements` need not wait for others that hold room in the source. A caller of this
  /// must hold no reservation of memory: others wait for one while they hold room.
  /// Errors: those of the source.
  result<void> wait_for_room(const read_ahead::item& claimed, const plan_item& item);

  /// The elements of an inner chunk, once they are there. Errors: those of the source.
  result<item_elements> elements(const read_ahead::item& claimed, const plan_item& item,
                                 memory_resource& resource);

 private:
  static constexpr std::size_t parts_ahead = 2;
  static constexpr std::size_t least_run = std::size_t{4} << 20;

  ZARRPOINT_NO_KEY item_run run_of(std::size_t i) const override;

  ZARRPOINT_NO_KEY result<std::unique_ptr<source_part>> begin(const item_run& run,
                                                              bool wait) override;
  /// The inner chunks of a run, if all of them are whole.
  std::vector<box> whole_chunks(const item_run& run) const;

  element_source& from_;
  const array_state& of_;
  const box_plan& plan_;
  std::size_t chunk_bytes_ = 0;
  std::size_t run_bytes_ = 0;
  bool alone_ = false;
  bool encodes_ = false;  ///< it is asked for inner chunks as they will be stored
  bytes_view elided_;     ///< the fill value, if chunks of it are not stored
  read_ahead ahead_;      // the last: it ends before what it asks
};

}}}  // namespace zarrpoint::v0::detail
