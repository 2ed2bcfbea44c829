// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "counted_new.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<std::size_t> live{0};
std::atomic<std::size_t> peak{0};

// The size, and in front of it where the block begins, stand before what is handed out.
struct header {
  std::size_t bytes;
  void* block;
};

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t before = std::max(alignment, sizeof(header));
  void* const block = std::aligned_alloc(before, (bytes + before + before - 1) / before * before);
  if (block == nullptr) return nullptr;
  std::byte* const out = static_cast<std::byte*>(block) + before;
  const header about{bytes, block};
  std::memcpy(out - sizeof about, &about, sizeof about);
  test::count_taken(bytes);
  return out;
}

void* allocate_or_abort(std::size_t bytes, std::size_t alignment) noexcept {
  void* const out = allocate(bytes, alignment);
  if (out == nullptr) std::abort();
  return out;
}

void give_back(void* pointer) noexcept {
  if (pointer == nullptr) return;
  header about{};
  std::memcpy(&about, static_cast<std::byte*>(pointer) - sizeof about, sizeof about);
  test::count_given_back(about.bytes);
  std::free(about.block);
}

constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

test::new_count test::counted_new() noexcept { return {live, peak}; }

std::size_t test::restart_peak() noexcept {
  const std::size_t now = live;
  peak = now;
  return now;
}

void test::count_taken(std::size_t bytes) noexcept {
  const std::size_t now = live += bytes;
  std::size_t most = peak;
  while (most < now && !peak.compare_exchange_weak(most, now)) {
  }
}

void test::count_given_back(std::size_t bytes) noexcept { live -= bytes; }

void* operator new(std::size_t bytes) { return allocate_or_abort(bytes, usual); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_abort(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, usual);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* pointer) noexcept { give_back(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { give_back(pointer); }
void operator delete(void* pointer, std::align_val_t) noexcept { give_back(pointer); }
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept { give_back(pointer); }
