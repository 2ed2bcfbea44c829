// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/zip/zip_space.hpp>

#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE zip_extent zip_space::allocate(std::uint64_t header, std::uint64_t capacity,
                                                std::uint64_t alignment) {
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

ZARRPOINT_INLINE bool zip_space::resize(zip_extent& extent, std::uint64_t end) {
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

// Called by destructors: without the memory to note it, the room stays empty.
ZARRPOINT_INLINE void zip_space::give_back(const zip_extent& extent) noexcept {
  if (closed_.load(std::memory_order_relaxed)) return;
  static_cast<void>(guarded([&]() -> result<void> {
    const std::lock_guard lock(mutex_);
    add_gap(extent.header, extent.end);
    return {};
  }));
}

ZARRPOINT_INLINE void zip_space::close() noexcept {
  closed_.store(true, std::memory_order_relaxed);
}

ZARRPOINT_INLINE std::uint64_t zip_space::tail() const {
  const std::lock_guard lock(mutex_);
  return tail_;
}

ZARRPOINT_INLINE zip_extent zip_space::place(std::uint64_t from, std::uint64_t header,
                                             std::uint64_t capacity, std::uint64_t alignment) {
  const std::uint64_t data = (from + header + alignment - 1) / alignment * alignment;
  return {from, data, data + capacity};
}

ZARRPOINT_INLINE void zip_space::add_gap(std::uint64_t begin, std::uint64_t end) {
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

}}}  // namespace zarrpoint::v0::detail
