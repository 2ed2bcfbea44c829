// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/kernel_table.hpp>

/// The kernels, for units that are compiled without them: link gpu_kernels.cu.
const zarrpoint::cuda::kernel_table& gpu_kernels();
