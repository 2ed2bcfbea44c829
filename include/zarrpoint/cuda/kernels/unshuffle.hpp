// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/kernel_index.hpp>
#include <zarrpoint/memory/device/device_space.hpp>

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

/// How many bytes of elements of a table's entry one block makes.
inline constexpr std::uint64_t planes_tile = std::uint64_t{8} * block_threads * vector_bytes;

/// What one thread makes of a tile of elements of `Size` bytes. They and the planes are as aligned
/// as `unshuffle_groups` says.
template <std::size_t Size>
constexpr void join_groups(const device_planes& job, std::uint64_t tile,
                           std::uint32_t thread) noexcept {
  constexpr std::size_t group = group_elements<Size>;
  constexpr std::uint64_t tile_groups = planes_tile / vector_bytes;
  auto* const to = at_address<std::byte>(job.to);
  const std::byte* from[Size];
  for (std::size_t p = 0; p < Size; ++p) from[p] = at_address<const std::byte>(job.from[p]);
  const std::uint64_t groups = job.count / group;
  const std::uint64_t begin = tile * tile_groups;
  const std::uint64_t end = groups < begin + tile_groups ? groups : begin + tile_groups;
  for (std::uint64_t i = begin + thread; i < end; i += block_threads) {
    lanes<std::uint8_t, group> planes[Size];
    for (std::size_t p = 0; p < Size; ++p)
      planes[p] = load<lanes<std::uint8_t, group>, group>(from[p] + i * group);
    store<vector_bytes>(to + i * vector_bytes, join_planes<Size>(planes));
  }
  // The elements after the last group.
  const std::uint64_t mine = groups * group + thread;
  if (end != groups || mine >= job.count) return;
  for (std::size_t p = 0; p < Size; ++p) to[mine * Size + p] = from[p][mine];
}

/// The same of any elements: one byte a step.
constexpr void join_bytes(const device_planes& job, std::uint64_t tile,
                          std::uint32_t thread) noexcept {
  const std::uint64_t bytes = job.count * job.width;
  const std::uint64_t begin = tile * planes_tile;
  const std::uint64_t end = bytes < begin + planes_tile ? bytes : begin + planes_tile;
  for (std::uint64_t i = begin + thread; i < end; i += block_threads)
    at_address<std::byte>(job.to)[i] =
        at_address<const std::byte>(job.from[i % job.width])[i / job.width];
}

/// What one thread makes of a tile of an entry, if the entry has so many.
constexpr void join_tile(const device_planes& job, std::uint64_t tile,
                         std::uint32_t thread) noexcept {
  if (tile * planes_tile >= job.count * job.width) return;
  std::uint64_t joined = 0;
  for (std::uint64_t p = 0; p < job.width; ++p) joined |= job.from[p];
  const bool is_aligned = job.to % vector_bytes == 0 && joined % (vector_bytes / job.width) == 0;
  if (is_aligned && job.width == 2) return join_groups<2>(job, tile, thread);
  if (is_aligned && job.width == 4) return join_groups<4>(job, tile, thread);
  if (is_aligned && job.width == 8) return join_groups<8>(job, tile, thread);
  join_bytes(job, tile, thread);
}

/// What one thread makes of elements of any size and place: one byte a step.
constexpr void unshuffle_bytes(std::byte* to, const std::byte* from, std::uint64_t size,
                               std::uint64_t count, thread_place place) noexcept {
  for (std::uint64_t i = place.first(); i < count * size; i += place.step())
    to[i] = from[i % size * count + i / size];
}

}}}  // namespace zarrpoint::v0::cuda::detail
