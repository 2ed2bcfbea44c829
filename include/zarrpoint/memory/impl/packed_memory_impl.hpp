// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/packed_memory.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Less is not worth it: one block that is kept may keep four times as much.
inline constexpr std::size_t least_packed = std::size_t{512} << 10;
/// Of what is larger the small pages at the end are a 32nd at most.
inline constexpr std::size_t most_packed = std::size_t{64} << 20;
/// The first tensors lie alone. A part of the last huge page may stay unused, which is then a 16th
/// of all at most.
inline constexpr std::size_t asked_alone = std::size_t{32} << 20;

/// Addresses that are given out from the first to the last, and never twice.
class packed_region final : public memory_resource {
 public:
  /// Null when the system refuses the addresses.
  static packed_region* make(packed_region* before) noexcept {
#if defined(MADV_HUGEPAGE)
    void* const first = default_resource().allocate(size, huge_page);
    if (first == nullptr) return nullptr;
    auto* const made = new (std::nothrow) packed_region(static_cast<std::byte*>(first), before);
    if (made == nullptr) default_resource().deallocate(first, size, huge_page);
    return made;
#else
    static_cast<void>(before);
    return nullptr;
#endif
  }

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      const std::size_t step = std::max(alignment, least_alignment);
      const std::size_t begin = (used_ + step - 1) / step * step;
      if (bytes >= least_packed && alignment <= huge_page && begin <= size &&
          bytes <= size - begin) {
        used_ = begin + bytes;
        for (std::size_t page = begin / huge_page; page <= (used_ - 1) / huge_page; ++page)
          ++blocks_in_[page];
        ++holders_;
        return first_ + begin;
      }
    }
    return default_resource().allocate(bytes, alignment);
  }

  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    // Wraps around for what lies before the region.
    const std::size_t begin =
        reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(first_);
    if (begin >= size) {
      default_resource().deallocate(memory, bytes, alignment);
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      std::size_t page = begin / huge_page;
      std::size_t last = (begin + bytes - 1) / huge_page;
      for (std::size_t at = page; at <= last; ++at) --blocks_in_[at];
      // Only the first and the last can have other blocks, too.
      if (blocks_in_[page] != 0) ++page;
      if (page <= last && blocks_in_[last] != 0) --last;
      if (page <= last) forget(page * huge_page, (last + 1 - page) * huge_page);
    }
    drop();
  }

  bool has_room(std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    return bytes <= size - used_;
  }
  packed_region* before() const noexcept { return before_; }

  /// One of those that hold it is gone: the owner, or a block. The last takes it along.
  void drop() noexcept {
    bool is_last = false;
    {
      const std::lock_guard lock(mutex_);
      is_last = --holders_ == 0;
    }
    if (is_last) delete this;
  }

 private:
  static constexpr std::size_t least_alignment = 4096;
  static constexpr std::size_t pages = 128;
  static constexpr std::size_t size = pages * huge_page;

  packed_region(std::byte* first, packed_region* before) noexcept
      : first_(first), before_(before) {}
  ~packed_region() { default_resource().deallocate(first_, size, huge_page); }

  /// Gives memory back, not addresses: holes in a mapping would each count as another one.
  void forget(std::size_t begin, std::size_t bytes) noexcept {
#if defined(MADV_HUGEPAGE)
    ::madvise(first_ + begin, bytes, MADV_DONTNEED);
#else
    static_cast<void>(begin);
    static_cast<void>(bytes);
#endif
  }

  std::byte* const first_;
  packed_region* const before_;
  std::mutex mutex_;
  std::size_t used_ = 0;
  std::size_t holders_ = 1;
  std::array<std::uint32_t, pages> blocks_in_{};  // of each huge page
};

struct packed_memory::state {
  std::mutex mutex;
  std::size_t asked = 0;
  packed_region* last = nullptr;
};

ZARRPOINT_INLINE packed_memory::packed_memory() noexcept : state_(new (std::nothrow) state) {}

ZARRPOINT_INLINE packed_memory::~packed_memory() {
  if (state_ == nullptr) return;
  for (packed_region* at = state_->last; at != nullptr;) {
    packed_region* const before = at->before();
    at->drop();
    at = before;
  }
  delete state_;
}

ZARRPOINT_INLINE memory_resource& packed_memory::resource_for(std::size_t bytes) noexcept {
  if (state_ == nullptr || bytes < least_packed || bytes > most_packed) return default_resource();
  const std::lock_guard lock(state_->mutex);
  if (state_->asked < asked_alone) {
    state_->asked += bytes;
    return default_resource();
  }
  packed_region*& last = state_->last;
  if (last == nullptr || !last->has_room(bytes)) {
    packed_region* const next = packed_region::make(last);
    if (next == nullptr) return default_resource();
    last = next;
  }
  return *last;
}

}}}  // namespace zarrpoint::v0::detail
