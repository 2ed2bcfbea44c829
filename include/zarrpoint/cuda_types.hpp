// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// CUDA's own small floats as elements: __half, __nv_bfloat16, fp8. Needs the toolkit's headers of
// them.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/cuda/element_types.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/core/types/bodies.hpp>
#endif
