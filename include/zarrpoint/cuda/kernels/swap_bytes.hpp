// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/kernel_index.hpp>

namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

/// The four bytes of each of the given size, 2 or 4, reversed.
template <std::size_t Size>
constexpr std::uint32_t swapped_word(std::uint32_t value) noexcept {
  const std::uint32_t pairs = (value & 0x00ff00ffU) << 8 | (value >> 8 & 0x00ff00ffU);
  return Size == 2 ? pairs : pairs << 16 | pairs >> 16;
}

/// 16 bytes, those of each element of `Size`, 2, 4, 8 or 16, reversed.
template <std::size_t Size>
constexpr word<16> swapped(const word<16>& value) noexcept {
  constexpr std::size_t words = Size < 4 ? 1 : Size / 4;  // of an element
  word<16> out{};
  for (std::size_t i = 0; i < 4; ++i)
    out.at[i] = swapped_word < Size == 2 ? 2 : 4 > (value.at[i ^ (words - 1)]);
  return out;
}

/// Reverses the bytes of one element by one exchange of many.
constexpr void swap_pair(std::byte* element, std::uint64_t size, std::uint64_t i) noexcept {
  const std::byte low = element[i];
  element[i] = element[size - 1 - i];
  element[size - 1 - i] = low;
}

/// Whether elements of that size and place can be taken 16 bytes at a time.
constexpr bool swaps_by_vectors(std::uint64_t address, std::uint64_t size) noexcept {
  return (size == 2 || size == 4 || size == 8 || size == 16) && address % size == 0;
}

/// What one thread swaps of elements that `swaps_by_vectors` admits.
template <std::size_t Size>
constexpr void swap_vectors(std::byte* at, std::uint64_t count, thread_place place) noexcept {
  const std::uint64_t before = (vector_bytes - address_of(at) % vector_bytes) % vector_bytes / Size;
  const std::uint64_t head = before < count ? before : count;
  const std::uint64_t vectors = (count - head) / (vector_bytes / Size);
  std::byte* const middle = at + head * Size;
  for (std::uint64_t i = place.first(); i < vectors; i += place.step()) {
    std::byte* const vector = middle + i * vector_bytes;
    store<vector_bytes>(vector, swapped<Size>(load<word<16>, vector_bytes>(vector)));
  }
  // The elements at both ends: fewer than the threads of one block.
  const std::uint64_t tail = head + vectors * (vector_bytes / Size);
  const std::uint64_t mine = place.first() < head ? place.first() : tail + (place.first() - head);
  if (mine >= count) return;
  for (std::uint64_t i = 0; i < Size / 2; ++i) swap_pair(at + mine * Size, Size, i);
}

/// What one thread swaps of elements of any size and place: one exchange of two bytes a step.
constexpr void swap_pairs(std::byte* at, std::uint64_t size, std::uint64_t count,
                          thread_place place) noexcept {
  const std::uint64_t half = size / 2;
  for (std::uint64_t i = place.first(); i < count * half; i += place.step())
    swap_pair(at + i / half * size, size, i % half);
}

}}}  // namespace zarrpoint::v0::cuda::detail
