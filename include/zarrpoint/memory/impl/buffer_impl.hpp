// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE error detail::cannot_allocate(std::size_t bytes, const memory_resource& from,
                                               std::string_view what) {
  std::string text = "cannot allocate " + std::to_string(bytes) + " bytes";
  if (!what.empty()) text.append(" for ").append(what);
  if (from.bytes_limit() != SIZE_MAX)
    text += ": " + std::to_string(from.bytes_in_use()) + " of the " +
            std::to_string(from.bytes_limit()) + " bytes of the budget are in use";
  return {errc::resource_limit, std::move(text)};
}

ZARRPOINT_INLINE result<buffer> buffer::allocate(std::size_t bytes, memory_resource& from,
                                                 std::size_t alignment) {
  buffer out;
  if (bytes == 0) return out;
  void* const memory = from.allocate(bytes, alignment);
  if (memory == nullptr) return detail::cannot_allocate(bytes, from);
  out.data_ = static_cast<std::byte*>(memory);
  out.size_ = bytes;
  out.alignment_ = alignment;
  out.resource_ = &from;
  return out;
}

ZARRPOINT_INLINE buffer& buffer::operator=(buffer&& other) noexcept {
  buffer(std::move(other)).swap(*this);
  return *this;
}

ZARRPOINT_INLINE buffer::~buffer() {
  if (data_ != nullptr) resource_->deallocate(data_, size_, alignment_);
}

ZARRPOINT_INLINE void buffer::swap(buffer& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(alignment_, other.alignment_);
  std::swap(resource_, other.resource_);
}

}}  // namespace zarrpoint::v0
