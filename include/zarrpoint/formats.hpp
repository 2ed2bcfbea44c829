// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// All formats, to read: `open(path, all_formats())`. Link zstd.
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/all_formats.hpp>
#include <zarrpoint/store/format.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/load/bodies.hpp>
#include <zarrpoint/interop/dcp/store_bodies.hpp>
#include <zarrpoint/interop/gguf/bodies.hpp>
#include <zarrpoint/interop/megatron/format_bodies.hpp>
#include <zarrpoint/interop/numpy/bodies.hpp>
#include <zarrpoint/interop/orbax/store_bodies.hpp>
#endif
