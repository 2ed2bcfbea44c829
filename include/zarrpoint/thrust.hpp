// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Handlers of Thrust's vectors; no header of Thrust is included.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/cuda/thrust.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/handler/base/bodies.hpp>
#endif
