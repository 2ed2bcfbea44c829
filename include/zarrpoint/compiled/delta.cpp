// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of deltas.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/delta/bodies.hpp>
#include <zarrpoint/delta/difference_bodies.hpp>
#include <zarrpoint/delta/store_bodies.hpp>
