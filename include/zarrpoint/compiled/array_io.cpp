// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of reading and writing chunks.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/array/base/bodies.hpp>
#include <zarrpoint/array/device/bodies.hpp>
#include <zarrpoint/array/grid/bodies.hpp>
#include <zarrpoint/array/read/bodies.hpp>
#include <zarrpoint/array/shard/bodies.hpp>
#include <zarrpoint/array/write/bodies.hpp>
