// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/launch.cuh>
#include <zarrpoint/cuda/kernels/symbols.hpp>

namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

template <class = void>
__global__ void __launch_bounds__(block_threads)
    count_kernel(const device_symbols* table, std::uint64_t count) {
  __shared__ counts_shared shared;
  const thread_place place = this_place();
  for (std::uint64_t i = place.block; i < count; i += place.blocks) {
    clear_counts(shared, place.thread);
    __syncthreads();
    add_counts(table[i], shared, place.thread, [](std::uint32_t* at) { atomicAdd(at, 1U); });
    __syncthreads();
    store_counts(table[i], shared, place.thread);
    __syncthreads();  // the counts are those of the next ones
  }
}

template <class = void>
__global__ void __launch_bounds__(block_threads)
    encode_kernel(const device_symbols* table, std::uint64_t count, std::uint32_t* failed) {
  __shared__ symbols_shared shared;
  const thread_place place = this_place();
  for (std::uint64_t i = place.block; i < count; i += place.blocks) {
    const device_symbols& job = table[i];
    if (job.kind <= device_literals::repeated) {
      copy_symbols(job, place.thread);
      continue;
    }
    const symbol_part part = part_of_symbols(job, place.thread);
    symbol_lengths(job, shared, place.thread);
    if (place.thread == 0) shared.bad = 0;
    __syncthreads();
    symbol_entries(shared, place.thread);
    __syncthreads();
    measure_symbols(job, part, shared, place.thread);
    __syncthreads();
    const std::uint32_t before = place_symbols(job, part, shared, place.thread);
    __syncthreads();
    if (shared.bad == 0) {
      write_symbols(job, part, shared, before, [](std::byte* at, std::uint32_t value) {
        atomicOr(reinterpret_cast<std::uint32_t*>(at), value);
      });
    } else {
      *failed = 1;
    }
    __syncthreads();  // the codes are those of the next ones
  }
}

/// See `kernel_table`.
inline cudaError_t count_symbols(cudaStream_t stream, const device_symbols* table,
                                 std::size_t count) {
  if (address_of(table) % alignof(device_symbols) != 0) return cudaErrorInvalidValue;
  if (count == 0) return cudaSuccess;
  const auto blocks = static_cast<std::uint32_t>(count < max_blocks ? count : max_blocks);
  return launch(count_kernel<>, blocks, stream, table, std::uint64_t{count});
}

/// See `kernel_table`.
inline cudaError_t encode_symbols(cudaStream_t stream, const device_symbols* table,
                                  std::size_t count, std::byte* failed) {
  if (address_of(failed) % alignof(std::uint32_t) != 0 ||
      address_of(table) % alignof(device_symbols) != 0)
    return cudaErrorInvalidValue;
  if (count == 0) return cudaSuccess;
  const auto blocks = static_cast<std::uint32_t>(count < max_blocks ? count : max_blocks);
  return launch(encode_kernel<>, blocks, stream, table, std::uint64_t{count},
                reinterpret_cast<std::uint32_t*>(failed));
}

}}}  // namespace zarrpoint::v0::cuda::detail
