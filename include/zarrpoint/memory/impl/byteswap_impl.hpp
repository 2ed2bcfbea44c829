// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/memory/byteswap.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Swaps each scalar of `Size` bytes within a word of eight.
template <std::size_t Size>
constexpr std::uint64_t byteswap_word(std::uint64_t word) noexcept {
  constexpr std::uint64_t even_bytes = 0x00ff00ff00ff00ff;
  if constexpr (Size == 2) return (word & even_bytes) << 8 | (word >> 8 & even_bytes);
  const std::uint64_t swapped = byteswap(word);
  return Size == 4 ? swapped << 32 | swapped >> 32 : swapped;
}

template <std::size_t Size>
void byteswap_run(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  constexpr std::size_t word_size = sizeof(std::uint64_t);
  std::size_t i = 0;
  for (; i + word_size <= bytes; i += word_size) {
    std::uint64_t word;
    std::memcpy(&word, from + i, word_size);
    word = byteswap_word<Size>(word);
    std::memcpy(to + i, &word, word_size);
  }
  // Fewer bytes than a word: swapped whole scalars come first, in either byte order.
  std::uint64_t word = 0;
  if (i == bytes) return;
  std::memcpy(&word, from + i, bytes - i);
  word = byteswap_word<Size>(word);
  std::memcpy(to + i, &word, bytes - i);
}

ZARRPOINT_INLINE void byteswap_copy(mutable_bytes to, bytes_view from, std::size_t scalar_size) {
  ZARRPOINT_ASSERT(to.size() == from.size() && from.size() % scalar_size == 0);
  switch (scalar_size) {
    case 2: return detail::byteswap_run<2>(to.data(), from.data(), from.size());
    case 4: return detail::byteswap_run<4>(to.data(), from.data(), from.size());
    case 8: return detail::byteswap_run<8>(to.data(), from.data(), from.size());
    default:
      ZARRPOINT_ASSERT(scalar_size == 1);
      if (!from.empty()) std::memmove(to.data(), from.data(), from.size());
  }
}

ZARRPOINT_INLINE void byteswap_elements(mutable_bytes data, std::size_t scalar_size) {
  if (scalar_size != 1) byteswap_copy(data, data, scalar_size);
}

}}}  // namespace zarrpoint::v0::detail
