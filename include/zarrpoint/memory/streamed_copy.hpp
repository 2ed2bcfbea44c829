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

/// Copies a row that others follow. The lines of the cache that it fills are not fetched first, and
/// do not stay in the cache; on processors without such stores it is a plain copy.
inline void copy_streamed(std::byte* to, const std::byte* from, std::size_t size) noexcept {
#if defined(__SSE2__) && defined(__GNUC__)
  using words [[gnu::vector_size(16)]] = long long;
  constexpr std::size_t line = 64;
  const std::size_t head = std::min(
      size, static_cast<std::size_t>(-reinterpret_cast<std::uintptr_t>(to) % std::uintptr_t{line}));
  std::memcpy(to, from, head);
  std::size_t at = head;
  for (; at + line <= size; at += line) {
    for (std::size_t i = at; i < at + line; i += sizeof(words)) {
      words value;
      std::memcpy(&value, from + i, sizeof value);
#if defined(__clang__)
      __builtin_nontemporal_store(value, reinterpret_cast<words*>(to + i));
#else
      __builtin_ia32_movntdq(reinterpret_cast<words*>(to + i), value);
#endif
    }
  }
  std::memcpy(to + at, from + at, size - at);
#else
  std::memcpy(to, from, size);
#endif
}

/// Before another thread may look at what was streamed.
inline void end_streamed_copies() noexcept {
#if defined(__SSE2__) && defined(__GNUC__)
  __builtin_ia32_sfence();
#endif
}

}}}  // namespace zarrpoint::v0::detail
