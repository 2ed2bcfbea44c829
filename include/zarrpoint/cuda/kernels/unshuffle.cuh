// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/launch.cuh>
#include <zarrpoint/cuda/kernels/unshuffle.hpp>

namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

template <std::size_t Size, std::size_t PlaneAlign>
__global__ void __launch_bounds__(block_threads)
    unshuffle_kernel(std::byte* to, const std::byte* from, std::uint64_t count) {
  unshuffle_groups<Size, PlaneAlign>(to, from, count, this_place());
}
template <class = void>
__global__ void __launch_bounds__(block_threads)
    unshuffle_any_kernel(std::byte* to, const std::byte* from, std::uint64_t size,
                         std::uint64_t count) {
  unshuffle_bytes(to, from, size, count, this_place());
}

template <class = void>
__global__ void __launch_bounds__(block_threads)
    join_planes_kernel(const device_planes* table, std::uint64_t tiles, std::uint64_t work) {
  const thread_place place = this_place();
  for (std::uint64_t i = place.block; i < work; i += place.blocks)
    join_tile(table[i / tiles], i % tiles, place.thread);
}

/// See `kernel_table`.
inline cudaError_t join_planes(cudaStream_t stream, const device_planes* table, std::size_t count,
                               std::size_t most) {
  if (address_of(table) % alignof(device_planes) != 0) return cudaErrorInvalidValue;
  if (count == 0 || most == 0) return cudaSuccess;
  const std::uint64_t tiles = divide_up(most, planes_tile);
  const std::uint64_t work = tiles * count;
  const auto blocks = static_cast<std::uint32_t>(work < max_blocks ? work : max_blocks);
  return launch(join_planes_kernel<>, blocks, stream, table, tiles, work);
}

template <std::size_t Size>
cudaError_t unshuffle_of(cudaStream_t stream, std::byte* to, const std::byte* from,
                         std::uint64_t count) {
  constexpr std::size_t group = group_elements<Size>;
  const std::uint32_t blocks = blocks_for(divide_up(count, group));
  const bool is_aligned = (address_of(from) | count) % group == 0;
  return launch(is_aligned ? unshuffle_kernel<Size, group> : unshuffle_kernel<Size, 1>, blocks,
                stream, to, from, count);
}

/// See `kernel_table`.
inline cudaError_t unshuffle(cudaStream_t stream, std::byte* to, const std::byte* from,
                             std::size_t size, std::size_t count) {
  if (size == 0 || count == 0) return cudaSuccess;
  if (size == 1) return copy_bytes(stream, to, from, count);
  if (address_of(to) % vector_bytes == 0) {
    switch (size) {
      case 2: return unshuffle_of<2>(stream, to, from, count);
      case 4: return unshuffle_of<4>(stream, to, from, count);
      case 8: return unshuffle_of<8>(stream, to, from, count);
      case 16: return unshuffle_of<16>(stream, to, from, count);
      default: break;
    }
  }
  return launch(unshuffle_any_kernel<>, blocks_for(std::uint64_t{size} * count), stream, to, from,
                std::uint64_t{size}, std::uint64_t{count});
}

}}}  // namespace zarrpoint::v0::cuda::detail
