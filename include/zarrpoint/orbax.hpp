// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checkpoints of Orbax, to read and to write, and OCDBT databases, to read. Link zstd.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_store.hpp>
#include <zarrpoint/interop/orbax/orbax_format.hpp>
#include <zarrpoint/interop/orbax/orbax_step.hpp>
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/interop/orbax/orbax_value.hpp>
#include <zarrpoint/interop/orbax_save/orbax_extra_items.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/orbax_save/save_bodies.hpp>
#endif
