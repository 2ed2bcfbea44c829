// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Copies of this size and more do not go by way of the caches, which they would not fit into with
/// their source.
inline constexpr std::size_t streamed_copy_bytes = std::size_t{1} << 20;

#if defined(__SSE2__) && defined(__GNUC__)
inline constexpr bool has_streaming_stores = true;

/// Sixteen bytes past the caches, to an aligned place.
inline void stream_to(std::byte* to, const void* from) noexcept {
  using words [[gnu::vector_size(16)]] = long long;
  words value;
  std::memcpy(&value, from, sizeof value);
#if defined(__clang__)
  __builtin_nontemporal_store(value, reinterpret_cast<words*>(to));
#else
  __builtin_ia32_movntdq(reinterpret_cast<words*>(to), value);
#endif
}
/// Before another thread may look at what was streamed.
inline void end_streaming() noexcept { __builtin_ia32_sfence(); }
#else
inline constexpr bool has_streaming_stores = false;
inline void stream_to(std::byte*, const void*) noexcept {}
inline void end_streaming() noexcept {}
#endif

/// Copies a row that others follow. The lines of the cache that it fills are not fetched first, and
/// do not stay in the cache; on processors without such stores it is a plain copy.
inline void copy_streamed(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  std::size_t at = 0;
  if constexpr (has_streaming_stores) {
    constexpr std::uintptr_t line = 64;
    at = std::min(size, static_cast<std::size_t>(-reinterpret_cast<std::uintptr_t>(to) % line));
    std::memcpy(to, from, at);
    for (; at + line <= size; at += line)
      for (std::size_t i = 0; i < line; i += 16) stream_to(to + at + i, from + at + i);
  }
  std::memcpy(to + at, from + at, size - at);
}

}}}  // namespace zarrpoint::v0::detail
