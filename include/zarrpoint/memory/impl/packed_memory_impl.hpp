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
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Less is not worth it: one block that is kept may keep four times as much.
inline constexpr std::size_t least_packed = std::size_t{512} << 10;
/// Small blocks: of less, malloc has several in a page; of more, a part of the huge page would stay
/// unused where the next one does not fit.
inline constexpr std::size_t least_small = std::size_t{2} << 10;
inline constexpr std::size_t most_small = std::size_t{128} << 10;
/// Of what is larger the small pages at the end are a 32nd at most.
inline constexpr std::size_t most_packed = std::size_t{64} << 20;
/// The first tensors lie alone. A part of the last huge page may stay unused, which is then a 16th
/// of all at most; of small ones a quarter, and as much is ready for the next.
inline constexpr std::size_t asked_alone = std::size_t{32} << 20;
inline constexpr std::size_t small_alone = std::size_t{8} << 20;

/// Addresses that are given out from the first to the last, and never twice: 128 huge pages, or
/// one for small blocks, in units that go back to the system alone. What has no room any more when
/// it is allocated, since other threads took it, is of the default resource, and holds the region
/// as well: it is given back here.
class packed_region final : public memory_resource {
 public:
  /// Null when the system refuses the addresses.
  static packed_region* make(bool is_small) noexcept {
#if defined(MADV_HUGEPAGE)
    const std::size_t size = is_small ? huge_page : most_units * huge_page;
    void* const first = default_resource().allocate(size, huge_page);
    if (first == nullptr) return nullptr;
    auto* const made = new (std::nothrow) packed_region(static_cast<std::byte*>(first), is_small);
    if (made == nullptr) default_resource().deallocate(first, size, huge_page);
    return made;
#else
    static_cast<void>(is_small);
    return nullptr;
#endif
  }

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      const std::size_t step = std::max(alignment, least_alignment_);
      const std::size_t begin = (used_ + step - 1) / step * step;
      if (bytes >= least_bytes_ && alignment <= huge_page && begin <= size_ &&
          bytes <= size_ - begin) {
        used_ = begin + bytes;
        for (std::size_t at = begin / unit_; at <= (used_ - 1) / unit_; ++at) {
          if (blocks_in_[at] == nobody) {
            blocks_in_[at] = 0;
          } else if (blocks_in_[at] == 0) {
            --unused_;
          }
          if (blocks_in_[at]++ == 0) ++in_use_;
        }
        ++holders_;
        return first_ + begin;
      }
    }
    void* const elsewhere = default_resource().allocate(bytes, alignment);
    if (elsewhere != nullptr) {
      const std::lock_guard lock(mutex_);
      ++holders_;
    }
    return elsewhere;
  }

  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    // Wraps around for what lies before the region.
    const std::size_t begin =
        reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(first_);
    if (begin >= size_) {
      default_resource().deallocate(memory, bytes, alignment);
    } else {
      const std::lock_guard lock(mutex_);
      for (std::size_t at = begin / unit_; at <= (begin + bytes - 1) / unit_; ++at) {
        if (--blocks_in_[at] != 0) continue;
        --in_use_;
        ++unused_;
      }
    }
    drop();
  }

  bool has_room(std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    return bytes <= size_ - std::min(size_, (used_ + 63) / 64 * 64);
  }
  bool is_half_used() noexcept {
    const std::lock_guard lock(mutex_);
    return used_ > size_ / 2;
  }
  /// Has the system clear the first huge page now.
  void touch() noexcept { *static_cast<volatile std::byte*>(first_) = std::byte{}; }
  packed_region* before() const noexcept { return before_; }
  void follow(packed_region* before) noexcept { before_ = before; }

  /// One of those that hold it is gone: the owner, or a block. The last takes it along.
  void drop() noexcept {
    bool is_last = false;
    {
      const std::lock_guard lock(mutex_);
      is_last = --holders_ == 0;  // and gives back all
      if (!is_last && unused_ > unused_for_each_ * in_use_) forget_unused();
    }
    if (is_last) delete this;
  }

 private:
  static constexpr std::size_t most_units = 128;
#if defined(__x86_64__)
  static constexpr std::size_t small_unit = 4096;
#else
  static constexpr std::size_t small_unit = 65536;  // the largest small pages that kernels have
#endif
  static constexpr std::size_t most_small_units = huge_page / small_unit;
  /// In place of a number of blocks: no memory is held.
  static constexpr std::uint32_t nobody = UINT32_MAX;

  packed_region(std::byte* first, bool is_small) noexcept
      : first_(first),
        unit_(is_small ? small_unit : huge_page),
        size_(is_small ? huge_page : most_units * huge_page),
        least_bytes_(is_small ? least_small : least_packed),
        least_alignment_(is_small ? 64 : 4096),
        unused_for_each_(is_small ? 3 : 0) {
    // The first touch of a small one's huge page takes all of it.
    blocks_in_.fill(is_small ? 0 : nobody);
    if (is_small) unused_ = most_small_units;
  }
  ~packed_region() { default_resource().deallocate(first_, size_, huge_page); }

  /// Gives memory back, not addresses: holes in a mapping would each count as another one.
  void forget_unused() noexcept {
    const std::size_t units = size_ / unit_;
    for (std::size_t at = 0; at < units; ++at) {
      const std::size_t begin = at;
      while (at < units && blocks_in_[at] == 0) blocks_in_[at++] = nobody;
#if defined(MADV_HUGEPAGE)
      if (at != begin) ::madvise(first_ + begin * unit_, (at - begin) * unit_, MADV_DONTNEED);
#endif
    }
    unused_ = 0;
  }

  std::byte* const first_;
  packed_region* before_ = nullptr;
  const std::size_t unit_;
  const std::size_t size_;
  const std::size_t least_bytes_;
  const std::size_t least_alignment_;
  const std::size_t unused_for_each_;  ///< units that may be held for each that is in use
  std::mutex mutex_;
  std::size_t used_ = 0;
  std::size_t holders_ = 1;
  std::size_t in_use_ = 0;  ///< units
  std::size_t unused_ = 0;  ///< units that are held, and no block lies in any more
  std::array<std::uint32_t, std::max(most_units, most_small_units)> blocks_in_;  // of each unit
};

struct packed_memory::state {
  std::mutex mutex;
  std::size_t asked[2] = {};  ///< of large and of small blocks
  packed_region* last[2] = {};
  packed_region* ahead = nullptr;  ///< the next one for small blocks
  bool is_making = false;          ///< that one
};

ZARRPOINT_INLINE packed_memory::packed_memory() noexcept : state_(new (std::nothrow) state) {}

ZARRPOINT_INLINE packed_memory::~packed_memory() {
  if (state_ == nullptr) return;
  for (packed_region* at : state_->last) {
    while (at != nullptr) {
      packed_region* const before = at->before();
      at->drop();
      at = before;
    }
  }
  if (state_->ahead != nullptr) state_->ahead->drop();
  delete state_;
}

ZARRPOINT_INLINE memory_resource& packed_memory::resource_for(std::size_t bytes) noexcept {
  const bool is_small = bytes <= most_small;
  if (state_ == nullptr || bytes < (is_small ? least_small : least_packed) || bytes > most_packed)
    return default_resource();
  std::unique_lock lock(state_->mutex);
  std::size_t& asked = state_->asked[is_small ? 1 : 0];
  if (asked < (is_small ? small_alone : asked_alone)) {
    asked += bytes;
    return default_resource();
  }
  packed_region*& last = state_->last[is_small ? 1 : 0];
  if (last == nullptr || !last->has_room(bytes)) {
    packed_region* next = is_small ? std::exchange(state_->ahead, nullptr) : nullptr;
    if (next == nullptr) next = packed_region::make(is_small);
    if (next == nullptr) return default_resource();
    next->follow(last);
    last = next;
  }
  if (is_small && !state_->is_making && state_->ahead == nullptr && last->is_half_used()) {
    // One thread does it while others use the rest: all that touch it first would each clear a
    // page.
    state_->is_making = true;
    lock.unlock();
    packed_region* const next = packed_region::make(true);
    if (next != nullptr) next->touch();
    lock.lock();
    state_->ahead = next;
    state_->is_making = false;
  }
  return *last;
}

}}}  // namespace zarrpoint::v0::detail
