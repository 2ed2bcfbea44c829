// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/crc32c.hpp>
#include <zarrpoint/cuda/kernels/launch.cuh>

namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

/// What a block adds to the checksum, for its first thread.
inline __device__ std::uint32_t crc32c_by_block(const crc32c_job& job,
                                                const crc32c_constants& known,
                                                crc32c_shared& shared, thread_place place) {
  crc32c_prepare(job, known, shared, place);
  __syncthreads();
  crc32c_sum_rows(job, shared, place);
  for (std::uint32_t level = 0; level < crc32c_levels; ++level) {
    __syncthreads();
    crc32c_join(known, shared, level, place.thread);
  }
  // The factors are another thread's.
  __syncthreads();
  return place.thread == 0 ? crc32c_of_block(job, shared, place.block) : 0;
}

template <class = void>
__global__ void __launch_bounds__(block_threads)
    crc32c_kernel(std::uint32_t* to, const __grid_constant__ crc32c_job job,
                  const __grid_constant__ crc32c_constants known) {
  __shared__ crc32c_shared shared;
  const thread_place place = this_place();
  const std::uint32_t sum = crc32c_by_block(job, known, shared, place);
  if (place.thread == 0) atomicXor(to, sum);
}

template <class = void>
__global__ void __launch_bounds__(block_threads)
    compare_crc32c_kernel(const device_checksum* table, std::uint64_t count,
                          unsigned long long* marks,
                          const __grid_constant__ crc32c_constants known) {
  __shared__ crc32c_shared shared;
  const thread_place place = this_place();
  for (std::uint64_t i = place.block; i < count; i += place.blocks) {
    const std::uint32_t sum =
        crc32c_by_block(crc32c_job_of(table[i]), known, shared, {0, 1, place.thread});
    if (place.thread == 0 && sum == table[i].crc32c)
      atomicAdd(marks, static_cast<unsigned long long>(table[i].mark));
    __syncthreads();  // the sums are those of the next one
  }
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
                job, crc32c_known);
}

/// See `kernel_table`.
inline cudaError_t compare_crc32c(cudaStream_t stream, const device_checksum* table,
                                  std::size_t count, std::byte* marks) {
  if (address_of(marks) % sizeof(std::uint64_t) != 0 ||
      address_of(table) % alignof(device_checksum) != 0)
    return cudaErrorInvalidValue;
  if (count == 0) return cudaSuccess;
  const auto blocks = static_cast<std::uint32_t>(count < max_blocks ? count : max_blocks);
  return launch(compare_crc32c_kernel<>, blocks, stream, table, std::uint64_t{count},
                reinterpret_cast<unsigned long long*>(marks), crc32c_known);
}

}}}  // namespace zarrpoint::v0::cuda::detail
