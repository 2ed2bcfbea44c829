// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/library_memory.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <cstddef>
#include <cstring>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE void* library_memory::allocate(void* self, std::size_t bytes) {
  auto& own = *static_cast<library_memory*>(self);
  void* memory = nullptr;
  const std::size_t whole = bytes + header;
  if (whole > bytes) memory = own.resource_->allocate(whole, header);
  if (memory == nullptr) {
    own.refused_ = bytes;
    return nullptr;
  }
  std::memcpy(memory, &whole, sizeof whole);
  return static_cast<std::byte*>(memory) + header;
}

ZARRPOINT_INLINE void library_memory::deallocate(void* self, void* address) {
  if (address == nullptr) return;
  std::byte* const memory = static_cast<std::byte*>(address) - header;
  std::size_t whole = 0;
  std::memcpy(&whole, memory, sizeof whole);
  static_cast<library_memory*>(self)->resource_->deallocate(memory, whole, header);
}

ZARRPOINT_INLINE error library_memory::no_memory(std::string_view what) const {
  return cannot_allocate(refused_, *resource_, what);
}

}}}  // namespace zarrpoint::v0::detail
