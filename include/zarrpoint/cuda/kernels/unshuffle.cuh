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
