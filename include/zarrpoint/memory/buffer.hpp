// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <string_view>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// That a resource refused so many bytes, "for " `what` where that is given: `resource_limit`, with
/// what is in use of a budget.
error cannot_allocate(std::size_t bytes, const memory_resource& from, std::string_view what = {});

}  // namespace detail

/// Owned bytes from a memory resource, which must outlive them. Empty by default; move-only.
class buffer {
 public:
  /// Where the bytes of elements begin, unless more is asked for: a cache line, and enough for
  /// every vector register.
  static constexpr std::size_t default_alignment = 64;

  buffer() = default;

  /// `bytes` uninitialised bytes at a multiple of `alignment`, a power of two. Errors:
  /// `resource_limit` when the resource refuses.
  static result<buffer> allocate(std::size_t bytes, memory_resource& from = default_resource(),
                                 std::size_t alignment = default_alignment);

  buffer(buffer&& other) noexcept { swap(other); }
  buffer& operator=(buffer&& other) noexcept;
  ~buffer();

  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  mutable_bytes bytes() noexcept { return {data_, size_}; }
  bytes_view bytes() const noexcept { return {data_, size_}; }

  void swap(buffer& other) noexcept;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t alignment_ = default_alignment;
  memory_resource* resource_ = nullptr;
};

}}  // namespace zarrpoint::v0
