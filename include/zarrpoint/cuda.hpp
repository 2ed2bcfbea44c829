// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tensors in the memory of CUDA devices: what any C++20 compiler reads, for the runtime's API only.
// Beside it stand the types of CUDA's small floats (cuda/element_types.hpp) and, for nvcc,
// the kernels (cuda/kernels.cuh).

#include <zarrpoint/cuda/mdspan.hpp>
#include <zarrpoint/cuda/runtime/device_space.hpp>
#include <zarrpoint/cuda/span.hpp>
#include <zarrpoint/cuda/tensor.hpp>
#include <zarrpoint/devices.hpp>
