// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// DLPack of tensors on CUDA devices. Needs the CUDA runtime, as cuda.hpp does.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/dlpack/dlpack_cuda.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/dlpack/bodies.hpp>
#endif
