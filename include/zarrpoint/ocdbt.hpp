// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// OCDBT databases, in which Orbax keeps checkpoints, to read and write. Link zstd.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_store.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_writer.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/ocdbt/write_bodies.hpp>
#endif
