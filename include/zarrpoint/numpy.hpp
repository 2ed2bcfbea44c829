// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Files of numpy, npy and npz, to read.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/numpy/npy_header.hpp>
#include <zarrpoint/interop/numpy/numpy_store.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/numpy/bodies.hpp>
#endif
