// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/kernel_index.hpp>

#include <cuda_runtime.h>

#if !defined(__CUDACC_RELAXED_CONSTEXPR__)
#error "zarrpoint's kernels are compiled by nvcc --expt-relaxed-constexpr"
#endif

namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

inline __device__ thread_place this_place() { return {blockIdx.x, gridDim.x, threadIdx.x}; }

// A kernel without parameters is a template of a dummy one. nvcc ignores `inline` on `__global__`.
// A plain kernel would be defined twice in a program of two such units.

/// Runs a kernel on the current device. The error is told here and not remembered by the runtime.
template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), std::uint32_t blocks, cudaStream_t stream,
                   const Arguments&... arguments) {
  cudaLaunchConfig_t shape{};
  shape.gridDim = dim3(blocks);
  shape.blockDim = dim3(block_threads);
  shape.stream = stream;
  const cudaError_t status = cudaLaunchKernelEx(&shape, kernel, arguments...);
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
  return status;
}

inline cudaError_t copy_bytes(cudaStream_t stream, std::byte* to, const std::byte* from,
                              std::size_t bytes) {
  const cudaError_t status = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
  return status;
}

}}}  // namespace zarrpoint::v0::cuda::detail
