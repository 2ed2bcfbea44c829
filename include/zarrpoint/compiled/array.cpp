// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of arrays and groups.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/array/array_bodies.hpp>
#include <zarrpoint/array/hierarchy/bodies.hpp>
#include <zarrpoint/array/index_bodies.hpp>
#include <zarrpoint/array/resize_bodies.hpp>
