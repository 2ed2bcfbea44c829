// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// DLPack for extension modules of Python. Needs Python.h.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/dlpack/dlpack_python.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/dlpack/bodies.hpp>
#endif
