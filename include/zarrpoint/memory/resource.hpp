// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace zarrpoint::inline v0 {

/// Where the library gets the memory of tensors and of scratch space from. Thread-safe.
///
/// Unlike `std::pmr`, a refusal is a null pointer, so that running out of a budget is an error of
/// the call that asked for it and not an exception.
class memory_resource {
 public:
  /// `bytes > 0` bytes, uninitialised or zero, at a multiple of `alignment`, a power of two. Null
  /// when they cannot be had.
  [[nodiscard]] virtual void* allocate(std::size_t bytes, std::size_t alignment) noexcept = 0;
  /// Gives back what `allocate` returned for the same size and alignment.
  virtual void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept = 0;

 protected:
  ~memory_resource() = default;
};

namespace detail {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

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
  /// A whole number of huge pages where that wastes an eighth at most, else of the largest small
  /// pages that kernels have: what is left behind in part of a page is never given back.
  static std::size_t mapped_size(std::size_t bytes) noexcept {
    constexpr std::size_t small_page = 65536;
    const std::size_t rounded = (bytes + huge_page - 1) / huge_page * huge_page;
    if (rounded - bytes <= bytes / 8) return rounded;
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

/// The memory of the system, without a limit; blocks of 2 MiB and more ask for huge pages.
inline memory_resource& default_resource() noexcept { return detail::system_memory; }

/// A budget: refuses what would bring the bytes in use above a limit, and remembers the peak.
class limited_resource final : public memory_resource {
 public:
  explicit limited_resource(std::size_t limit,
                            memory_resource& upstream = default_resource()) noexcept
      : upstream_(&upstream), limit_(limit) {}

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
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
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    upstream_->deallocate(memory, bytes, alignment);
    refund(bytes);
  }

  /// Counts memory that others allocate, such as the text of strings; false if that is too much.
  [[nodiscard]] bool charge(std::size_t bytes) noexcept {
    std::size_t total = 0;
    if (!take(bytes, total)) return false;
    note_peak(total);
    return true;
  }
  /// Takes back what was charged.
  void refund(std::size_t bytes) noexcept { in_use_.fetch_sub(bytes, std::memory_order_relaxed); }

  std::size_t limit() const noexcept { return limit_; }
  /// Bytes handed out and not given back.
  std::size_t in_use() const noexcept { return in_use_.load(std::memory_order_relaxed); }
  /// The most bytes that were ever in use at once.
  std::size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }

 private:
  /// `total`: what is in use then.
  bool take(std::size_t bytes, std::size_t& total) noexcept {
    std::size_t used = in_use_.load(std::memory_order_relaxed);
    do {
      if (bytes > limit_ - used) return false;
      total = used + bytes;
    } while (!in_use_.compare_exchange_weak(used, total, std::memory_order_relaxed));
    return true;
  }
  void note_peak(std::size_t used) noexcept {
    std::size_t peak = peak_.load(std::memory_order_relaxed);
    while (peak < used && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
    }
  }

  memory_resource* upstream_;
  std::size_t limit_;
  std::atomic<std::size_t> in_use_{0};
  std::atomic<std::size_t> peak_{0};
};

}  // namespace zarrpoint::inline v0
