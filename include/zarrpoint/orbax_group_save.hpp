// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checkpoints of Orbax, to write by many processes. Link zstd.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/orbax_save/orbax_group_save.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/orbax_save/save_bodies.hpp>
#endif
