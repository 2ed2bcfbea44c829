// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of the store OCDBT.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/interop/ocdbt/read_bodies.hpp>
#include <zarrpoint/interop/ocdbt/write_bodies.hpp>
