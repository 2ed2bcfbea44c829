// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tensors of other libraries without a copy, by DLPack.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/dlpack/dlpack.hpp>
#include <zarrpoint/interop/dlpack/dlpack_export.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/dlpack/bodies.hpp>
#endif
