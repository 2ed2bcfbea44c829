// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of core, memory and exec.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/core/bodies.hpp>
#include <zarrpoint/core/checksum/bodies.hpp>
#include <zarrpoint/core/types/bodies.hpp>
#include <zarrpoint/exec/bodies.hpp>
#include <zarrpoint/memory/bodies.hpp>
#include <zarrpoint/memory/device/bodies.hpp>
