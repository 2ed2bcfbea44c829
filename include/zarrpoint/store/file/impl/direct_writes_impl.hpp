// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/write_behind.hpp>
#include <zarrpoint/store/file/direct_writes.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/store/file/staging_blocks.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE direct_writes::~direct_writes() {
  settle();
  if (memory_ != nullptr) blocks_.give(memory_);
}

ZARRPOINT_INLINE void direct_writes::open(int buffered, unique_fd direct) {
  buffered_ = buffered;
  fd_ = std::move(direct);
  usable_.store(static_cast<bool>(fd_), std::memory_order_relaxed);
}

ZARRPOINT_INLINE int direct_writes::write(std::uint64_t offset, bytes_view bytes) {
  const std::size_t head = static_cast<std::size_t>(-offset % direct_boundary);
  if (bytes.size() < direct_minimum || !usable_.load(std::memory_order_relaxed))
    return write_fully(buffered_, offset, bytes);
  const std::size_t size = (bytes.size() - head) / direct_boundary * direct_boundary;
  int code = write_fully(buffered_, offset, bytes.first(head));
  for (std::size_t at = head; code == 0 && at < head + size;) {
    const std::size_t count = std::min(head + size - at, staging_blocks::block_size);
    code = put_now(offset + at, bytes.subspan(at, count));
    at += count;
  }
  if (code != 0) return code;
  return write_fully(buffered_, offset + head + size, bytes.subspan(head + size));
}

ZARRPOINT_INLINE int direct_writes::write_once(std::uint64_t offset, bytes_view bytes, once how) {
  if (bytes.size() < direct_minimum || !usable_.load(std::memory_order_relaxed))
    return write_fully(buffered_, offset, bytes);
  if (const int code = pending_.code.load(std::memory_order_relaxed); code != 0) return code;
  const std::uint64_t end = offset + bytes.size();
  const bytes_view head = bytes.first(static_cast<std::size_t>(-offset % direct_boundary));
  // A gap belongs to the block of the head, or is left out.
  static constexpr std::byte nothing[64]{};
  const bool fits = how.gap <= sizeof nothing && head.size() + how.gap < direct_boundary;
  const bytes_view zeros(nothing, head.empty() || !fits ? 0 : how.gap);
  const bytes_view tail = bytes.last(static_cast<std::size_t>(end % direct_boundary));
  edge* before = nullptr;
  edge* after = nullptr;
  bool head_waits = false;
  bool tail_waits = false;
  {
    const std::lock_guard lock(mutex_);
    if (!head.empty()) {
      const std::size_t missing = direct_boundary - head.size();
      before = take(offset - missing, missing - zeros.size());
      head_waits = before == nullptr && keep(offset - zeros.size(), zeros, head);
    }
    if (!tail.empty()) {
      after = take(end, direct_boundary - tail.size());
      tail_waits = after == nullptr && keep(end - tail.size(), {}, tail);
    }
  }
  int code = 0;
  if (before != nullptr) {
    offset = before->offset;
  } else {
    if (!head_waits) code = write_fully(buffered_, offset, head);
    bytes = bytes.subspan(head.size());
    offset += head.size();
  }
  if (after == nullptr) {
    if (!tail_waits && code == 0) code = write_fully(buffered_, end - tail.size(), tail);
    bytes = bytes.first(bytes.size() - tail.size());
  }
  if (code == 0)
    code =
        put(offset,
            {bytes_of(before), before != nullptr ? zeros : zeros.first(0), bytes, bytes_of(after)},
            how.bytes_stay);
  const std::lock_guard lock(mutex_);
  if (before != nullptr) *before = {};
  if (after != nullptr) *after = {};
  return code;
}

ZARRPOINT_INLINE int direct_writes::finish() {
  settle();
  const std::lock_guard lock(mutex_);
  int code = pending_.code.load(std::memory_order_relaxed);
  for (edge& one : edges_) {
    if (code == 0) code = write_fully(buffered_, one.offset, bytes_of(&one));
    one.size = 0;
  }
  return code;
}

ZARRPOINT_INLINE bytes_view direct_writes::bytes_of(const edge* one) const noexcept {
  if (one == nullptr || one->size == 0) return {};
  return {memory_ + static_cast<std::size_t>(one - edges_) * direct_boundary, one->size};
}

/// What waits there, for the caller to write; null if nothing does.
ZARRPOINT_INLINE direct_writes::edge* direct_writes::take(std::uint64_t offset,
                                                          std::size_t size) noexcept {
  for (edge& one : edges_) {
    if (one.size != size || one.offset != offset || one.taken) continue;
    one.taken = true;
    return &one;
  }
  return nullptr;
}

/// False when there is no room.
ZARRPOINT_INLINE bool direct_writes::keep(std::uint64_t offset, bytes_view zeros,
                                          bytes_view bytes) noexcept {
  if (memory_ == nullptr) memory_ = blocks_.take();
  if (memory_ == nullptr) return false;
  for (std::size_t i = 0; i < slots; ++i) {
    if (edges_[i].size != 0) continue;
    edges_[i] = {offset, zeros.size() + bytes.size(), false};
    std::byte* const slot = memory_ + i * direct_boundary;
    std::memset(slot, 0, zeros.size());
    std::memcpy(slot + zeros.size(), bytes.data(), bytes.size());
    return true;
  }
  return false;
}

ZARRPOINT_INLINE int direct_writes::put(std::uint64_t offset, const bytes_view (&parts)[4],
                                        bool bytes_stay) {
  const bool alone = parts[0].empty() && parts[3].empty();
  if (alone && reinterpret_cast<std::uintptr_t>(parts[2].data()) % direct_alignment == 0) {
    const write_behind::job work{&write_kept, this, offset, parts[2]};
    return bytes_stay && behind_.post(work, pending_) ? 0 : write_kept(work);
  }
  std::byte* block = nullptr;
  std::size_t used = 0;
  bool is_staged = true;  // until there is no memory for that
  for (bytes_view part : parts) {
    while (!part.empty()) {
      if (is_staged && block == nullptr) block = blocks_.take();
      is_staged = block != nullptr;
      if (!is_staged) {
        if (const int code = write_fully(buffered_, offset, part); code != 0) return code;
        offset += part.size();
        break;
      }
      const std::size_t count = std::min(part.size(), staging_blocks::block_size - used);
      std::memcpy(block + used, part.data(), count);
      part = part.subspan(count);
      used += count;
      if (used < staging_blocks::block_size) continue;
      if (const int code = put_block(offset, block, used); code != 0) return code;
      offset += std::exchange(used, 0);
      block = nullptr;
    }
  }
  return block != nullptr ? put_block(offset, block, used) : 0;
}

/// Writes whole blocks, one staging block at most, before it returns.
ZARRPOINT_INLINE int direct_writes::put_now(std::uint64_t offset, bytes_view bytes) noexcept {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % direct_alignment == 0;
  std::byte* const block = is_aligned ? nullptr : blocks_.take();
  if (!is_aligned && block == nullptr) return write_fully(buffered_, offset, bytes);
  if (block != nullptr) std::memcpy(block, bytes.data(), bytes.size());
  const int code = put_bytes(offset, block != nullptr ? bytes_view(block, bytes.size()) : bytes);
  if (block != nullptr) blocks_.give(block);
  return code;
}

/// Writes the first bytes of a staged block, now or by somebody else, and gives it back.
ZARRPOINT_INLINE int direct_writes::put_block(std::uint64_t offset, std::byte* block,
                                              std::size_t size) noexcept {
  const write_behind::job work{&write_staged, this, offset, bytes_view(block, size)};
  return behind_.post(work, pending_) ? 0 : write_staged(work);
}

ZARRPOINT_INLINE int direct_writes::write_kept(const write_behind::job& work) noexcept {
  return static_cast<direct_writes*>(work.writer)->put_bytes(work.offset, work.bytes);
}

ZARRPOINT_INLINE int direct_writes::write_staged(const write_behind::job& work) noexcept {
  auto& self = *static_cast<direct_writes*>(work.writer);
  const int code = self.put_bytes(work.offset, work.bytes);
  self.blocks_.give(const_cast<std::byte*>(work.bytes.data()));
  return code;
}

ZARRPOINT_INLINE int direct_writes::put_bytes(std::uint64_t offset, bytes_view bytes) noexcept {
  if (usable_.load(std::memory_order_relaxed)) {
    const int code = write_fully(fd_.get(), offset, bytes);
    if (code != EINVAL && code != EOPNOTSUPP) return code;
    // Stricter rules than ours; what was written already is written again.
    usable_.store(false, std::memory_order_relaxed);
  }
  return write_fully(buffered_, offset, bytes);
}

}}}  // namespace zarrpoint::v0::detail
