// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/crc32.hpp>

#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

namespace zarrpoint::inline v0::detail {

/// The checksum of a member whose pieces are written in any order.
class zip_checksum {
 public:
  void add(std::uint64_t offset, bytes_view bytes) {
    const std::uint32_t crc = crc32(0, bytes);
    const std::lock_guard lock(mutex_);
    auto next = pieces_.lower_bound(offset);
    if (next != pieces_.begin() && std::prev(next)->second.end > offset) overlaps_ = true;
    if (next != pieces_.end() && next->first < offset + bytes.size()) overlaps_ = true;
    if (overlaps_) return;
    piece made{offset + bytes.size(), crc};
    if (next != pieces_.end() && next->first == made.end) {
      made.crc = crc32_combine(made.crc, next->second.crc, next->second.end - next->first);
      made.end = next->second.end;
      next = pieces_.erase(next);
    }
    if (next != pieces_.begin() && std::prev(next)->second.end == offset) {
      piece& before = std::prev(next)->second;
      before.crc = crc32_combine(before.crc, made.crc, made.end - offset);
      before.end = made.end;
    } else {
      pieces_.emplace_hint(next, offset, made);
    }
  }

  /// The first range below `size` that nothing covers: empty if there is none.
  std::pair<std::uint64_t, std::uint64_t> hole(std::uint64_t size) const {
    const std::lock_guard lock(mutex_);
    if (pieces_.empty()) return {0, size};
    if (pieces_.begin()->first != 0) return {0, pieces_.begin()->first};
    const std::uint64_t begin = pieces_.begin()->second.end;
    const auto next = std::next(pieces_.begin());
    return {begin, next == pieces_.end() ? size : next->first};
  }
  /// Whether a byte was written twice: then the pieces do not tell.
  bool overlaps() const {
    const std::lock_guard lock(mutex_);
    return overlaps_;
  }
  std::uint32_t value() const {
    const std::lock_guard lock(mutex_);
    return pieces_.empty() ? 0 : pieces_.begin()->second.crc;
  }

 private:
  struct piece {
    std::uint64_t end;
    std::uint32_t crc;
  };
  mutable std::mutex mutex_;
  std::map<std::uint64_t, piece> pieces_;
  bool overlaps_ = false;
};

}  // namespace zarrpoint::inline v0::detail
