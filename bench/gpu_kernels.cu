// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The one unit of gpu_bench that nvcc compiles.

#include <zarrpoint/cuda/kernels.cuh>

#include "gpu_kernels.hpp"

namespace bench {

const zarrpoint::cuda::kernel_table* gpu_kernels() { return &zarrpoint::cuda::kernels(); }
const char* gpu_note() { return ""; }

}  // namespace bench
