// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>

namespace zarrpoint::inline v0::detail {

/// A piece of an archive that is being written: a local header, and room for the bytes of a member.
struct zip_extent {
  std::uint64_t header = 0;
  std::uint64_t data = 0;  ///< aligned
  std::uint64_t end = 0;

  std::uint64_t capacity() const noexcept { return end - data; }
};

/// Who has which piece of an archive. What is given back is used again; nothing moves.
class zip_space {
 public:
  /// Room for `capacity` bytes at a multiple of `alignment`, with at least `header` bytes before.
  zip_extent allocate(std::uint64_t header, std::uint64_t capacity, std::uint64_t alignment) {
    const std::lock_guard lock(mutex_);
    for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
      const zip_extent found = place(gap->first, header, capacity, alignment);
      if (found.end > gap->second) continue;
      const std::uint64_t gap_end = gap->second;
      gaps_.erase(gap);
      if (found.end != gap_end) gaps_.emplace(found.end, gap_end);
      return found;
    }
    const zip_extent found = place(tail_, header, capacity, alignment);
    tail_ = found.end;
    return found;
  }

  /// Makes an extent end at `end`: shorter always, longer only if nothing lies behind it. Tells
  /// whether it does.
  bool resize(zip_extent& extent, std::uint64_t end) {
    const std::lock_guard lock(mutex_);
    if (extent.end == tail_) {
      tail_ = end;
    } else if (end > extent.end) {
      return false;
    } else if (end < extent.end) {
      add_gap(end, extent.end);
    }
    extent.end = end;
    return true;
  }

  void give_back(const zip_extent& extent) {
    const std::lock_guard lock(mutex_);
    add_gap(extent.header, extent.end);
  }

  /// Where the last extent ends.
  std::uint64_t tail() const {
    const std::lock_guard lock(mutex_);
    return tail_;
  }

 private:
  static zip_extent place(std::uint64_t from, std::uint64_t header, std::uint64_t capacity,
                          std::uint64_t alignment) {
    const std::uint64_t data = (from + header + alignment - 1) / alignment * alignment;
    return {from, data, data + capacity};
  }

  void add_gap(std::uint64_t begin, std::uint64_t end) {
    const auto next = gaps_.lower_bound(begin);
    if (next != gaps_.end() && next->first == end) {
      end = next->second;
      gaps_.erase(next);
    }
    const auto after = gaps_.lower_bound(begin);
    if (after != gaps_.begin() && std::prev(after)->second == begin) {
      begin = std::prev(after)->first;
      gaps_.erase(begin);
    }
    if (end == tail_) {
      tail_ = begin;
    } else {
      gaps_.emplace(begin, end);
    }
  }

  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> gaps_;  ///< from begin to end; none touch
  std::uint64_t tail_ = 0;
};

}  // namespace zarrpoint::inline v0::detail
