// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/resource.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Large blocks are mapped and ask for huge pages: the first touch of fresh memory is then about
/// five times as fast. Small ones come from `operator new`.
class system_resource final : public memory_resource {
 public:
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
#if defined(MADV_HUGEPAGE)
    if (is_mapped(bytes, alignment)) return map(mapped_size(bytes));
#endif
    return ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
#if defined(MADV_HUGEPAGE)
    if (is_mapped(bytes, alignment)) {
      ::munmap(memory, mapped_size(bytes));
      return;
    }
#endif
    ::operator delete (memory, std::align_val_t{alignment});
  }

 private:
#if defined(MADV_HUGEPAGE)
  static bool is_mapped(std::size_t bytes, std::size_t alignment) noexcept {
    return bytes >= huge_page && alignment <= huge_page && bytes <= SIZE_MAX / 2;
  }
  /// A whole number of huge pages where that wastes a 32nd at most, so that budgets, which count
  /// what was asked for, are kept nearly; else of the largest small
  /// pages that kernels have: what is left behind in part of a page is never given back.
  static std::size_t mapped_size(std::size_t bytes) noexcept {
    constexpr std::size_t small_page = 65536;
    const std::size_t rounded = (bytes + huge_page - 1) / huge_page * huge_page;
    if (rounded - bytes <= bytes / 32) return rounded;
    return (bytes + small_page - 1) / small_page * small_page;
  }
  /// Maps one huge page more than asked for and gives back what lies before and after the aligned
  /// part.
  static void* map(std::size_t bytes) noexcept {
    const std::size_t whole = bytes + huge_page;
    void* const start =
        ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return nullptr;
    auto* const first = static_cast<std::byte*>(start);
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(start) % huge_page;
    if (before != 0) ::munmap(first, before);
    ::munmap(first + before + bytes, huge_page - before);  // `before` is less than a huge page
    ::madvise(first + before, bytes, MADV_HUGEPAGE);       // advice only: small pages work too
    return first + before;
  }
#endif
};

inline constinit system_resource system_memory{};

}  // namespace detail

ZARRPOINT_INLINE limited_resource::limited_resource(std::size_t limit,
                                                    memory_resource& upstream) noexcept
    : upstream_(&upstream), limit_(limit) {}

ZARRPOINT_INLINE memory_resource& default_resource() noexcept { return detail::system_memory; }

ZARRPOINT_INLINE void* limited_resource::allocate(std::size_t bytes,
                                                  std::size_t alignment) noexcept {
  std::size_t total = 0;
  if (!take(bytes, total)) return nullptr;
  void* const memory = upstream_->allocate(bytes, alignment);
  if (memory == nullptr) {
    refund(bytes);
  } else {
    note_peak(total);
  }
  return memory;
}

ZARRPOINT_INLINE void limited_resource::deallocate(void* memory, std::size_t bytes,
                                                   std::size_t alignment) noexcept {
  upstream_->deallocate(memory, bytes, alignment);
  refund(bytes);
}

ZARRPOINT_INLINE bool limited_resource::charge(std::size_t bytes) noexcept {
  std::size_t total = 0;
  if (!take(bytes, total)) return false;
  note_peak(total);
  return true;
}

ZARRPOINT_INLINE bool limited_resource::take(std::size_t bytes, std::size_t& total) noexcept {
  std::size_t used = in_use_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_ - used) return false;
    total = used + bytes;
  } while (!in_use_.compare_exchange_weak(used, total, std::memory_order_relaxed));
  return true;
}

ZARRPOINT_INLINE void limited_resource::note_peak(std::size_t used) noexcept {
  std::size_t peak = peak_.load(std::memory_order_relaxed);
  while (peak < used && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
  }
}

}}  // namespace zarrpoint::v0
