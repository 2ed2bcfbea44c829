// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of many processes: saving.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/distributed/save/plan_bodies.hpp>
#include <zarrpoint/distributed/save/save_bodies.hpp>
