// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of the layouts of Megatron-Core.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/interop/megatron/directory_bodies.hpp>
#include <zarrpoint/interop/megatron/format_bodies.hpp>
#include <zarrpoint/interop/megatron/torch_dist_bodies.hpp>
