// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/file/direct_writes.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE staging_blocks::~staging_blocks() {
  while (free_ != nullptr) std::free(pop());
}

ZARRPOINT_INLINE std::byte* staging_blocks::take() noexcept {
  const std::lock_guard lock(mutex_);
  if (free_ != nullptr) return pop();
  return static_cast<std::byte*>(std::aligned_alloc(direct_alignment, block_size));
}

ZARRPOINT_INLINE void staging_blocks::give(std::byte* block) noexcept {
  const std::lock_guard lock(mutex_);
  std::memcpy(block, &free_, sizeof free_);
  free_ = block;
}

ZARRPOINT_INLINE std::byte* staging_blocks::pop() noexcept {
  std::byte* const block = free_;
  std::memcpy(&free_, block, sizeof free_);
  return block;
}

ZARRPOINT_INLINE int direct_writes::write(std::uint64_t offset, bytes_view bytes,
                                          staging_blocks& blocks, bytes_view& done) {
  done = bytes.first(0);
  const std::size_t head = static_cast<std::size_t>(-offset % direct_boundary);
  if (bytes.size() < direct_minimum || !usable_.load(std::memory_order_relaxed)) return 0;
  const std::size_t size = (bytes.size() - head) / direct_boundary * direct_boundary;
  const bytes_view middle = bytes.subspan(head, size);
  const int code = write_aligned(offset + head, middle, blocks);
  if (code == 0) {
    done = middle;
  } else if (code == EINVAL || code == EOPNOTSUPP) {
    // Stricter rules than ours; what was written already is written again.
    usable_.store(false, std::memory_order_relaxed);
  } else {
    return code;
  }
  return 0;
}

ZARRPOINT_INLINE int direct_writes::write_aligned(std::uint64_t offset, bytes_view bytes,
                                                  staging_blocks& blocks) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % direct_alignment == 0)
    return write_fully(fd_.get(), offset, bytes);
  std::byte* const block = blocks.take();
  if (block == nullptr) return EINVAL;
  int code = 0;
  while (code == 0 && !bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), staging_blocks::block_size);
    std::memcpy(block, bytes.data(), count);
    code = write_fully(fd_.get(), offset, bytes_view(block, count));
    offset += count;
    bytes = bytes.subspan(count);
  }
  blocks.give(block);
  return code;
}

}}}  // namespace zarrpoint::v0::detail
