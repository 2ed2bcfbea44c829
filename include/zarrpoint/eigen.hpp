// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Handlers of Eigen's matrices, vectors and tensors; no header of Eigen is included.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/tensors/eigen.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/handler/base/bodies.hpp>
#endif
