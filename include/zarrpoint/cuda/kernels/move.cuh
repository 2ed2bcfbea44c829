// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/launch.cuh>
#include <zarrpoint/cuda/kernels/move.hpp>

namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

template <std::size_t Unit>
__global__ void __launch_bounds__(block_threads) move_kernel(const __grid_constant__ move_job job) {
  move_units<Unit>(job, this_place());
}

inline cudaError_t move_part(cudaStream_t stream, const unit_move& part) {
  const move_job job = make_move_job(part);
  const std::uint32_t blocks = blocks_for(job.units);
  switch (part.unit) {
    case 16: return launch(move_kernel<16>, blocks, stream, job);
    case 8: return launch(move_kernel<8>, blocks, stream, job);
    case 4: return launch(move_kernel<4>, blocks, stream, job);
    case 2: return launch(move_kernel<2>, blocks, stream, job);
    default: return launch(move_kernel<1>, blocks, stream, job);
  }
}

/// See `kernel_table`.
inline cudaError_t move(cudaStream_t stream, const strided_move& elements) {
  const std::size_t rank = elements.shape.rank();
  const auto bytes = byte_count(elements.shape, elements.element_size);
  if (!bytes || elements.to_strides.rank() != rank || elements.from_strides.rank() != rank)
    return cudaErrorInvalidValue;
  if (*bytes == 0) return cudaSuccess;
  const unit_move whole = plan_move(elements);
  if (whole.is_run()) return copy_bytes(stream, whole.to, whole.from, *bytes);
  cudaError_t status = cudaSuccess;
  for_each_tiling(whole, [&](const unit_move& tiling) {
    return for_each_part(tiling, max_units, [&](const unit_move& part) {
      status = move_part(stream, part);
      return status == cudaSuccess;
    });
  });
  return status;
}

}}}  // namespace zarrpoint::v0::cuda::detail
