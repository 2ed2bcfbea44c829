// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Deltas: checkpoints that hold what differs from another. Link zstd.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/delta/delta.hpp>
#include <zarrpoint/delta/difference.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/delta/bodies.hpp>
#endif
