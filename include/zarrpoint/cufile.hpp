// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Files to a GPU past the host, by cuFile (GPUDirect Storage). Link the dynamic loader (-ldl).
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/cufile.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/load/bodies.hpp>
#endif
