// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// `__cuda_array_interface__` for extension modules of Python. Needs Python.h, and beside
// dlpack_cuda.hpp no more.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/dlpack/cuda_array_interface.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/dlpack/bodies.hpp>
#endif
