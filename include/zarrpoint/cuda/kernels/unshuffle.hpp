// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/kernel_index.hpp>

// Byte planes to elements. A thread takes a few neighbouring bytes of each plane, which make 16
// bytes of elements: neighbouring threads read and write neighbouring places without shared memory
// between.
namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

/// Elements of `Size` bytes that a thread makes at once.
template <std::size_t Size>
inline constexpr std::size_t group_elements = vector_bytes / Size;

/// 16 bytes of elements from 16 / `Size` bytes of each plane.
template <std::size_t Size>
constexpr word<16> join_planes(const lanes<std::uint8_t, group_elements<Size>>* planes) noexcept {
  word<16> out{};
  for (std::size_t i = 0; i < vector_bytes; ++i) {
    const std::uint32_t byte = planes[i % Size].at[i / Size];
    out.at[i / 4] |= byte << (i % 4 * 8);
  }
  return out;
}

/// What one thread makes of elements of 2, 4, 8 or 16 bytes. `to` is aligned to 16, the planes to
/// `PlaneAlign`, which is 1 or the elements of a group.
template <std::size_t Size, std::size_t PlaneAlign>
constexpr void unshuffle_groups(std::byte* to, const std::byte* from, std::uint64_t count,
                                thread_place place) noexcept {
  constexpr std::size_t group = group_elements<Size>;
  const std::uint64_t groups = count / group;
  for (std::uint64_t i = place.first(); i < groups; i += place.step()) {
    lanes<std::uint8_t, group> planes[Size];
    for (std::size_t p = 0; p < Size; ++p)
      planes[p] = load<lanes<std::uint8_t, group>, PlaneAlign>(from + p * count + i * group);
    store<vector_bytes>(to + i * vector_bytes, join_planes<Size>(planes));
  }
  // The elements after the last group: fewer than the threads of one block.
  const std::uint64_t mine = groups * group + place.first();
  if (mine >= count) return;
  for (std::size_t p = 0; p < Size; ++p) to[mine * Size + p] = from[p * count + mine];
}

/// What one thread makes of elements of any size and place: one byte a step.
constexpr void unshuffle_bytes(std::byte* to, const std::byte* from, std::uint64_t size,
                               std::uint64_t count, thread_place place) noexcept {
  for (std::uint64_t i = place.first(); i < count * size; i += place.step())
    to[i] = from[i % size * count + i / size];
}

}}}  // namespace zarrpoint::v0::cuda::detail
