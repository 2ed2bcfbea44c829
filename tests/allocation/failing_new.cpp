// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "failing_new.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <thread>

namespace {

std::atomic<bool> armed{false};
std::atomic<bool> failed{false};
std::atomic<bool> lasts{false};
std::atomic<long> left{0};

std::atomic<std::size_t> slow{0};
std::atomic<long> slow_left{0};

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t wanted = slow.load();
  if (wanted != 0 && bytes == wanted && slow_left.fetch_sub(1) == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    failed = true;
    return nullptr;
  }
  if (armed.load()) {
    const long at = left.fetch_sub(1);
    if (at == 1 || (at < 1 && lasts.load())) {
      failed = true;
      return nullptr;
    }
  }
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__)
    return std::malloc(std::max<std::size_t>(bytes, 1));
  return std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const out = allocate(bytes, alignment);
  if (out == nullptr) throw std::bad_alloc();
  return out;
}

constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void test::fail_allocation(long n, bool lasting) noexcept {
  failed = false;
  lasts = lasting;
  left = n;
  armed = true;
}

long test::allocations_left() noexcept { return left; }

void test::fail_slowly(std::size_t bytes, long n) noexcept {
  failed = false;
  slow_left = n;
  slow = bytes;
}

bool test::allocations_work() noexcept {
  armed = false;
  slow = 0;
  return failed;
}

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, usual); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes, usual); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, usual);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, usual);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* pointer) noexcept { std::free(pointer); }
void operator delete[](void* pointer) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { std::free(pointer); }
void operator delete[](void* pointer, std::size_t) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::align_val_t) noexcept { std::free(pointer); }
void operator delete[](void* pointer, std::align_val_t) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept { std::free(pointer); }
void operator delete[](void* pointer, std::size_t, std::align_val_t) noexcept {
  std::free(pointer);
}
