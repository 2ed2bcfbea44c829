// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/launch.cuh>
#include <zarrpoint/cuda/kernels/literals.hpp>

namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

template <class = void>
__global__ void __launch_bounds__(block_threads)
    literals_kernel(const device_literals* table, std::uint64_t count, std::uint32_t* failed) {
  __shared__ literals_shared shared;
  const thread_place place = this_place();
  for (std::uint64_t i = place.block; i < count; i += place.blocks) {
    const device_literals& job = table[i];
    if (job.kind <= device_literals::repeated) {
      literals_bytes(job, place.thread);
      continue;
    }
    literals_lengths(job, shared, place.thread);
    __syncthreads();
    literals_singles(shared, place.thread);
    __syncthreads();
    literals_entries(shared, place.thread);
    __syncthreads();
    if (!literals_streams(job, shared, place.thread)) *failed = 1;
    __syncthreads();  // the tables are those of the next ones
  }
}

/// See `kernel_table`.
inline cudaError_t decode_literals(cudaStream_t stream, const device_literals* table,
                                   std::size_t count, std::byte* failed) {
  if (address_of(failed) % alignof(std::uint32_t) != 0 ||
      address_of(table) % alignof(device_literals) != 0)
    return cudaErrorInvalidValue;
  if (count == 0) return cudaSuccess;
  const auto blocks = static_cast<std::uint32_t>(count < max_blocks ? count : max_blocks);
  return launch(literals_kernel<>, blocks, stream, table, std::uint64_t{count},
                reinterpret_cast<std::uint32_t*>(failed));
}

}}}  // namespace zarrpoint::v0::cuda::detail
