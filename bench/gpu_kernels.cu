// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The one unit of gpu_bench that nvcc compiles.

#include "gpu_kernels.hpp"

#include <zarrpoint/cuda/kernels.cuh>

namespace bench {

const zarrpoint::cuda::kernel_table* gpu_kernels() { return &zarrpoint::cuda::kernels(); }
const char* gpu_note() { return ""; }

}  // namespace bench
