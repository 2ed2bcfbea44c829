// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Handlers of RMM's containers; no header of RMM is included.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/cuda/rmm.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/handler/base/bodies.hpp>
#endif
