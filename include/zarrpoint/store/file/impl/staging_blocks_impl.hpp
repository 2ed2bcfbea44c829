// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/file/staging_blocks.hpp>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>

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

}}}  // namespace zarrpoint::v0::detail
