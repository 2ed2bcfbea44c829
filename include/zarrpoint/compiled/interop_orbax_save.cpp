// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of writing checkpoints of Orbax.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/interop/orbax_save/plan_bodies.hpp>
#include <zarrpoint/interop/orbax_save/save_bodies.hpp>
