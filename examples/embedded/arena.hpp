// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __has_include(<zarrpoint/memory/resource.hpp>)
#include <zarrpoint/memory/resource.hpp>
#else  // the library is the one file
#include <zarrpoint/zarrpoint.hpp>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace example {

/// A fixed block of memory, handed out piece by piece: the first gap that is large enough, and gaps
/// that touch are joined. It takes no other memory, and serves one thread.
class arena final : public zarrpoint::memory_resource {
 public:
  /// `memory` begins at a multiple of 16.
  constexpr arena(std::byte* memory, std::size_t size) noexcept : memory_(memory), size_(size) {}

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    if (!begun_) begin();
    if (bytes > size_) return nullptr;
    bytes = rounded(bytes);
    alignment = std::max(alignment, granule);
    for (gap** link = &gaps_; *link != nullptr; link = &(*link)->next) {
      const auto start = reinterpret_cast<std::uintptr_t>(*link);
      const std::size_t before = (alignment - start % alignment) % alignment;
      if ((*link)->size < before || (*link)->size - before < bytes) continue;
      return take(link, before, bytes);
    }
    return nullptr;
  }

  void deallocate(void* memory, std::size_t bytes, std::size_t) noexcept override {
    bytes = rounded(bytes);
    in_use_ -= bytes;
    gap* before = nullptr;
    gap* after = gaps_;
    while (after != nullptr && after < memory) {
      before = after;
      after = after->next;
    }
    gap* const freed = ::new (memory) gap{after, bytes};
    (before == nullptr ? gaps_ : before->next) = freed;
    join(freed);
    if (before != nullptr) join(before);
  }

  std::size_t in_use() const noexcept { return in_use_; }
  /// The most bytes that were ever in use at once.
  std::size_t peak() const noexcept { return peak_; }

 private:
  struct gap {
    gap* next;
    std::size_t size;
  };
  static constexpr std::size_t granule = 16;
  static_assert(sizeof(gap) <= granule);

  static std::size_t rounded(std::size_t bytes) noexcept {
    return std::max((bytes + granule - 1) / granule * granule, granule);
  }

  void begin() noexcept {
    begun_ = true;
    if (size_ >= granule) gaps_ = ::new (memory_) gap{nullptr, size_ / granule * granule};
  }

  void* take(gap** link, std::size_t before, std::size_t bytes) noexcept {
    gap* const from = *link;
    auto* const start = reinterpret_cast<std::byte*>(from) + before;
    const std::size_t after = from->size - before - bytes;
    gap* next = from->next;
    if (after != 0) next = ::new (start + bytes) gap{next, after};
    if (before != 0) {
      from->next = next;
      from->size = before;
    } else {
      *link = next;
    }
    in_use_ += bytes;
    peak_ = std::max(peak_, in_use_);
    return start;
  }

  /// Takes the next gap in where it begins at the end of this one.
  static void join(gap* one) noexcept {
    gap* const next = one->next;
    if (next == nullptr ||
        reinterpret_cast<std::byte*>(one) + one->size != reinterpret_cast<std::byte*>(next))
      return;
    one->size += next->size;
    one->next = next->next;
  }

  std::byte* memory_;
  std::size_t size_;
  gap* gaps_ = nullptr;
  bool begun_ = false;
  std::size_t in_use_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace example
