// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a save or a load was at, and when, as a file for Chrome's and Perfetto's viewers.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/trace/trace_file.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/trace/bodies.hpp>
#endif
