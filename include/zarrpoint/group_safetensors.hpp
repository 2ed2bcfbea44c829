// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Models of safetensors, written by many processes.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/safetensors/group_format.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/safetensors/group_bodies.hpp>
#endif
