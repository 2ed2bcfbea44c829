// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/store/zip/zip_checksum.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE void zip_checksum::add(std::uint64_t offset, bytes_view bytes) {
  if (bytes.empty()) return;
  std::uint64_t begin = offset;
  piece made{offset + bytes.size(), crc32(0, bytes)};
  const std::lock_guard lock(mutex_);
  auto next = pieces_.lower_bound(begin);
  if (next != pieces_.begin() && std::prev(next)->second.end >= begin) --next;
  // Those that it overlaps or touches become one with it, in the memory of the first of them: no
  // piece is lost where there is no memory.
  std::map<std::uint64_t, piece>::node_type joined;
  while (next != pieces_.end() && next->first <= made.end) {
    const auto [other_begin, other] = *next;
    if (other.end == begin) {
      made.crc = crc32_combine(other.crc, made.crc, made.end - begin);
    } else if (other_begin == made.end) {
      made.crc = crc32_combine(made.crc, other.crc, other.end - other_begin);
    } else {
      overlaps_ = true;
    }
    begin = std::min(begin, other_begin);
    made.end = std::max(made.end, other.end);
    const auto gone = next++;
    if (joined.empty()) {
      joined = pieces_.extract(gone);
    } else {
      pieces_.erase(gone);
    }
  }
  if (joined.empty()) {
    pieces_.emplace_hint(next, begin, made);
  } else {
    joined.key() = begin;
    joined.mapped() = made;
    pieces_.insert(next, std::move(joined));
  }
}

ZARRPOINT_INLINE std::pair<std::uint64_t, std::uint64_t> zip_checksum::hole(
    std::uint64_t size) const {
  const std::lock_guard lock(mutex_);
  if (pieces_.empty()) return {0, size};
  if (pieces_.begin()->first != 0) return {0, pieces_.begin()->first};
  const std::uint64_t begin = pieces_.begin()->second.end;
  const auto next = std::next(pieces_.begin());
  return {begin, next == pieces_.end() ? size : next->first};
}

ZARRPOINT_INLINE std::uint64_t zip_checksum::end() const {
  const std::lock_guard lock(mutex_);
  return pieces_.empty() ? 0 : pieces_.rbegin()->second.end;
}

ZARRPOINT_INLINE bool zip_checksum::overlaps() const {
  const std::lock_guard lock(mutex_);
  return overlaps_;
}

ZARRPOINT_INLINE std::uint32_t zip_checksum::value() const {
  const std::lock_guard lock(mutex_);
  return pieces_.empty() ? 0 : pieces_.begin()->second.crc;
}

}}}  // namespace zarrpoint::v0::detail
