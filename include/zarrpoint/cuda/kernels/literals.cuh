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
    const literal_part part = part_of_literals(job, place.thread);
    literals_lengths(job, shared, place.thread);
    __syncthreads();
    literals_singles(shared, place.thread);
    __syncthreads();
    literals_entries(shared, place.thread);
    shared.starts[place.thread] = part.begin;
    if (place.thread == 0) shared.bad = 0;
    bool is_new = true;
    do {
      __syncthreads();
      if (place.thread == 0) shared.changed = 0;
      if (is_new) scan_literals(part, shared, place.thread);
      __syncthreads();
      is_new = move_literals(part, shared, place.thread);
      if (is_new) shared.changed = 1;
      __syncthreads();
    } while (shared.changed != 0);
    const std::uint32_t before = sum_literals(part, shared, place.thread);
    __syncthreads();
    if (shared.bad == 0) {
      auto* const to = at_address<std::byte>(job.to) + part.to + before;
      write_literals(part, shared, place.thread, to);
    } else {
      *failed = 1;
    }
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
