// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The one unit of the example that nvcc compiles.

#include <zarrpoint/cuda/kernels.cuh>

#include "layers.hpp"

#include <stdexcept>
#include <string>

namespace speech {

namespace {

template <class Step>
__global__ void run(std::size_t count, Step step) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) step(i);
}

}  // namespace

template <class Step>
void for_each(const zarrpoint::cuda::device_space& space, std::size_t count, const Step& step) {
  constexpr unsigned threads = 128;
  const zarrpoint::cuda::device_scope scope(space.device());
  const auto blocks = static_cast<unsigned>((count + threads - 1) / threads);
  run<<<blocks, threads, 0, space.stream()>>>(count, step);
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess)
    throw std::runtime_error(std::string("launch: ") + cudaGetErrorString(status));
}

template void for_each(const zarrpoint::cuda::device_space&, std::size_t, const convolution_step&);
template void for_each(const zarrpoint::cuda::device_space&, std::size_t, const magnitude_step&);
template void for_each(const zarrpoint::cuda::device_space&, std::size_t, const gate_step&);
template void for_each(const zarrpoint::cuda::device_space&, std::size_t, const cell_step&);

const zarrpoint::cuda::kernel_table& library_kernels() { return zarrpoint::cuda::kernels(); }

}  // namespace speech
