// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/library_memory.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE void* library_memory::allocate(void* resource, std::size_t bytes) {
  if (bytes > SIZE_MAX - header) return nullptr;
  const std::size_t whole = bytes + header;
  void* const memory = static_cast<memory_resource*>(resource)->allocate(whole, header);
  if (memory == nullptr) return nullptr;
  std::memcpy(memory, &whole, sizeof whole);
  return static_cast<std::byte*>(memory) + header;
}

ZARRPOINT_INLINE void library_memory::deallocate(void* resource, void* address) {
  if (address == nullptr) return;
  std::byte* const memory = static_cast<std::byte*>(address) - header;
  std::size_t whole = 0;
  std::memcpy(&whole, memory, sizeof whole);
  static_cast<memory_resource*>(resource)->deallocate(memory, whole, header);
}

}}}  // namespace zarrpoint::v0::detail
