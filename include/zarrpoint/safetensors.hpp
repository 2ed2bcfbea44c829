// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Files of safetensors, read and written.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/safetensors/safetensors.hpp>
#include <zarrpoint/interop/safetensors/safetensors_files.hpp>
#include <zarrpoint/interop/safetensors/safetensors_store.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/safetensors/bodies.hpp>
#endif
