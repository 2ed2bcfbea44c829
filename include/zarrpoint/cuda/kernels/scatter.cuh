// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/launch.cuh>
#include <zarrpoint/cuda/kernels/scatter.hpp>

namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

template <class = void>
__global__ void __launch_bounds__(block_threads)
    scatter_kernel(const device_segment* table, std::uint64_t count, std::uint32_t share) {
  scatter_runs(table, count, share, this_place());
}

/// See `kernel_table`.
inline cudaError_t scatter(cudaStream_t stream, const device_segment* table, std::size_t count) {
  if (count == 0) return cudaSuccess;
  if (address_of(table) % alignof(device_segment) != 0) return cudaErrorInvalidValue;
  const std::uint32_t share = blocks_per_run(count);
  const std::uint64_t tasks = std::uint64_t{count} * share;
  const auto blocks = static_cast<std::uint32_t>(tasks < max_blocks ? tasks : max_blocks);
  return launch(scatter_kernel<>, blocks, stream, table, std::uint64_t{count}, share);
}

}}}  // namespace zarrpoint::v0::cuda::detail
