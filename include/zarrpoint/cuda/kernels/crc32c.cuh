// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/crc32c.hpp>
#include <zarrpoint/cuda/kernels/launch.cuh>

namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

template <class = void>
__global__ void __launch_bounds__(block_threads)
    crc32c_kernel(std::uint32_t* to, const __grid_constant__ crc32c_job job) {
  __shared__ crc32c_shared shared;
  const thread_place place = this_place();
  crc32c_prepare(job, shared, place);
  __syncthreads();
  crc32c_sum_rows(job, shared, place);
  for (std::uint32_t level = 0; level < crc32c_levels; ++level) {
    __syncthreads();
    crc32c_join(job, shared, level, place.thread);
  }
  // The factors are another thread's.
  __syncthreads();
  if (place.thread == 0) atomicXor(to, crc32c_of_block(job, shared, place.block));
}

/// See `kernel_table`.
inline cudaError_t crc32c(cudaStream_t stream, std::byte* to, const std::byte* from,
                          std::size_t bytes) {
  constexpr std::uint32_t most = 1024;  // blocks: enough for every device, and few to add up
  if (address_of(to) % alignof(std::uint32_t) != 0) return cudaErrorInvalidValue;
  const cudaError_t status = cudaMemsetAsync(to, 0, sizeof(std::uint32_t), stream);
  if (status != cudaSuccess) return static_cast<void>(cudaGetLastError()), status;
  if (bytes == 0) return cudaSuccess;  // the checksum of nothing
  const crc32c_job job = make_crc32c_job(from, bytes, most);
  return launch(crc32c_kernel<>, crc32c_blocks(job), stream, reinterpret_cast<std::uint32_t*>(to),
                job);
}

}}}  // namespace zarrpoint::v0::cuda::detail
