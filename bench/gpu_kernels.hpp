// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/kernel_table.hpp>

namespace bench {

/// The kernels that gpu_bench uses: those of the library, which gpu_kernels.cu brings; a test has
/// others.
const zarrpoint::cuda::kernel_table* gpu_kernels();

/// What the head of the table says of the device beside its number.
const char* gpu_note();

}  // namespace bench
