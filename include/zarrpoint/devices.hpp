// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tensors on devices: what saves and loads elements of any `device_space`
// (memory/device/device_space.hpp). <zarrpoint/cuda.hpp> includes it. A program with a memory space
// of its own includes it, too.
#include <zarrpoint/array/device/device_crc32c.hpp>
#include <zarrpoint/array/device/device_leaf.hpp>
#include <zarrpoint/array/device/device_values.hpp>
#include <zarrpoint/checkpoint/load/device_batch.hpp>
#include <zarrpoint/checkpoint/load/device_read_leaf.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/handler/staging.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/array/device/bodies.hpp>
#include <zarrpoint/checkpoint/load/bodies.hpp>
#endif
