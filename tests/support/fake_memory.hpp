// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

namespace zarrpoint_test {

/// A test that breaks its own fake has no result worth having; nor has a library that does.
[[noreturn]] inline void fake_device_fails(const char* what) {
  std::fprintf(stderr, "fake_device: %s\n", what);
  std::abort();
}

/// Bytes on either side.
struct byte_range {
  const std::byte* first = nullptr;
  std::size_t bytes = 0;

  bool meets(const byte_range& other) const {
    return first < other.first + other.bytes && other.first < first + bytes;
  }
  bool holds(const byte_range& other) const {
    return other.first >= first && other.first + other.bytes <= first + bytes;
  }
};

/// The memory of a fake device: one memfd mapped twice, at the addresses that users see, without
/// any access, and read-write for the device's own operations. What is allocated is known twice,
/// too: as the host has asked for it, and as far as the streams have come. Not thread-safe.
class fake_memory {
 public:
  static constexpr std::byte poison{0xdb};

  /// `capacity` bounds the bytes that are live at once; there are more addresses than that.
  explicit fake_memory(std::size_t capacity)
      : capacity_(capacity), arena_(std::max(capacity * 2, std::size_t{256} << 20)) {
    const int file = ::memfd_create("fake_device", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(arena_)) != 0) fake_device_fails("memfd");
    user_ = map(file, PROT_NONE);
    own_ = map(file, PROT_READ | PROT_WRITE);
    ::close(file);
  }
  fake_memory(const fake_memory&) = delete;
  fake_memory& operator=(const fake_memory&) = delete;
  ~fake_memory() {
    ::munmap(user_, arena_);
    ::munmap(own_, arena_);
  }

  std::size_t allocations() const { return known_.size(); }
  std::size_t live_bytes() const { return live_bytes_; }
  std::size_t peak_bytes() const { return peak_bytes_; }

  /// Where the device itself reaches what users see at `user`.
  std::byte* own(const std::byte* user) const { return own_ + (user - user_); }

  /// Whether the range lies within one allocation: by what the host knows, or by what the device
  /// has come to.
  bool is_allocated(const byte_range& used, bool by_host) const {
    if (used.bytes == 0) return true;
    if (used.first < user_ || used.first >= user_ + arena_) return false;
    const allocations_by_offset& allocated = by_host ? known_ : alive_;
    const std::size_t offset = offset_of(used.first);
    const auto after = allocated.upper_bound(offset);
    if (after == allocated.begin()) return false;
    const auto& [begin, size] = *std::prev(after);
    return offset - begin <= size && used.bytes <= size - (offset - begin);
  }

  /// The host's side of an allocation: an address apart from all others; null when too much is
  /// live.
  std::byte* reserve(std::size_t bytes) {
    constexpr std::size_t gap = 256;
    if (bytes > capacity_ - live_bytes_) return nullptr;
    const std::size_t size = (bytes + gap - 1) / gap * gap + gap;
    for (bool wrapped = false;;) {
      if (arena_ - next_ < size) {
        if (std::exchange(wrapped, true)) return nullptr;
        next_ = 0;
      }
      const std::size_t in_the_way =
          std::max(last_end(known_, next_ + size), last_end(alive_, next_ + size));
      if (in_the_way <= next_) break;
      next_ = std::min((in_the_way + gap - 1) / gap * gap + gap, arena_);
    }
    const std::size_t offset = next_;
    next_ += size;
    known_[offset] = bytes;
    live_bytes_ += bytes;
    peak_bytes_ = std::max(peak_bytes_, live_bytes_);
    return user_ + offset;
  }
  /// Of the end of one; its bytes.
  std::size_t release(const std::byte* user) {
    const auto at = known_.find(offset_of(user));
    if (at == known_.end()) fake_device_fails("free of what is not allocated");
    const std::size_t bytes = at->second;
    live_bytes_ -= bytes;
    known_.erase(at);
    return bytes;
  }

  /// The device's side of both. New memory holds poison.
  void begin(const std::byte* user, std::size_t bytes) {
    alive_[offset_of(user)] = bytes;
    poison_own(user, bytes);
  }
  void end(const std::byte* user, std::size_t bytes) {
    poison_own(user, bytes);
    alive_.erase(offset_of(user));
  }

 private:
  using allocations_by_offset = std::map<std::size_t, std::size_t>;  ///< offset -> bytes

  std::byte* map(int file, int protection) const {
    void* const memory = ::mmap(nullptr, arena_, protection, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) fake_device_fails("mmap");
    return static_cast<std::byte*>(memory);
  }
  std::size_t offset_of(const std::byte* user) const {
    return static_cast<std::size_t>(user - user_);
  }
  void poison_own(const std::byte* user, std::size_t bytes) {
    std::memset(own(user), static_cast<int>(poison), bytes);
  }
  /// The end of the last allocation that begins before `offset`, which has one byte at least.
  static std::size_t last_end(const allocations_by_offset& allocated, std::size_t offset) {
    const auto after = allocated.lower_bound(offset);
    if (after == allocated.begin()) return 0;
    const auto& [begin, size] = *std::prev(after);
    return begin + std::max<std::size_t>(size, 1);
  }

  std::size_t capacity_;
  std::size_t arena_;
  std::byte* user_ = nullptr;
  std::byte* own_ = nullptr;
  std::size_t next_ = 0;
  std::size_t live_bytes_ = 0;
  std::size_t peak_bytes_ = 0;
  allocations_by_offset known_;  ///< as the host asked
  allocations_by_offset alive_;  ///< as far as the streams have come
};

}  // namespace zarrpoint_test
