// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/launch.cuh>
#include <zarrpoint/cuda/kernels/swap_bytes.hpp>

namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

template <std::size_t Size>
__global__ void __launch_bounds__(block_threads) swap_kernel(std::byte* at, std::uint64_t count) {
  swap_vectors<Size>(at, count, this_place());
}
template <class = void>
__global__ void __launch_bounds__(block_threads)
    swap_any_kernel(std::byte* at, std::uint64_t size, std::uint64_t count) {
  swap_pairs(at, size, count, this_place());
}

/// See `kernel_table`.
inline cudaError_t swap_bytes(cudaStream_t stream, std::byte* at, std::size_t size,
                              std::size_t count) {
  if (size < 2 || count == 0) return cudaSuccess;
  const std::uint64_t elements = count;
  if (!swaps_by_vectors(address_of(at), size))
    return launch(swap_any_kernel<>, blocks_for(size / 2 * elements), stream, at,
                  std::uint64_t{size}, elements);
  const std::uint32_t blocks = blocks_for(divide_up(elements, vector_bytes / size));
  switch (size) {
    case 2: return launch(swap_kernel<2>, blocks, stream, at, elements);
    case 4: return launch(swap_kernel<4>, blocks, stream, at, elements);
    case 8: return launch(swap_kernel<8>, blocks, stream, at, elements);
    default: return launch(swap_kernel<16>, blocks, stream, at, elements);
  }
}

}}}  // namespace zarrpoint::v0::cuda::detail
