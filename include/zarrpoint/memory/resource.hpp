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
  /// A whole number of huge pages where that wastes an eighth at most; `munmap` rounds to small
  /// pages itself.
  static std::size_t mapped_size(std::size_t bytes) noexcept {
    const std::size_t rounded = (bytes + huge_page - 1) / huge_page * huge_page;
    return rounded - bytes <= bytes / 8 ? rounded : bytes;
  }
  /// Maps one huge page more than asked for and gives back what lies before and after the aligned
  /// part.
  static void* map(std::size_t bytes) noexcept {
    constexpr std::size_t small_page = 4096;
    const std::size_t rounded = (bytes + small_page - 1) / small_page * small_page;
    const std::size_t whole = rounded + huge_page;
    void* const start =
        ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return nullptr;
    auto* const first = static_cast<std::byte*>(start);
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(start) % huge_page;
    if (before != 0) ::munmap(first, before);
    if (whole != before + rounded) ::munmap(first + before + rounded, whole - before - rounded);
    ::madvise(first + before, rounded, MADV_HUGEPAGE);  // advice only: small pages work too
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
    std::size_t used = in_use_.load(std::memory_order_relaxed);
    do {
      if (bytes > limit_ - used) return nullptr;
    } while (!in_use_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    void* const memory = upstream_->allocate(bytes, alignment);
    if (memory == nullptr) {
      in_use_.fetch_sub(bytes, std::memory_order_relaxed);
      return nullptr;
    }
    std::size_t peak = peak_.load(std::memory_order_relaxed);
    while (peak < used + bytes &&
           !peak_.compare_exchange_weak(peak, used + bytes, std::memory_order_relaxed)) {
    }
    return memory;
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    upstream_->deallocate(memory, bytes, alignment);
    in_use_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  std::size_t limit() const noexcept { return limit_; }
  /// Bytes handed out and not given back.
  std::size_t in_use() const noexcept { return in_use_.load(std::memory_order_relaxed); }
  /// The most bytes that were ever in use at once.
  std::size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }

 private:
  memory_resource* upstream_;
  std::size_t limit_;
  std::atomic<std::size_t> in_use_{0};
  std::atomic<std::size_t> peak_{0};
};

}  // namespace zarrpoint::inline v0
