// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The one unit with kernels of a program whose other units need no nvcc.

#include <zarrpoint/cuda/kernels.cuh>

#include "cuda/gpu_kernels.hpp"

const zarrpoint::cuda::kernel_table& gpu_kernels() { return zarrpoint::cuda::kernels(); }
