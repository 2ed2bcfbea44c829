// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of many processes: strategies and loading.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/distributed/load/load_bodies.hpp>
#include <zarrpoint/distributed/load/once_bodies.hpp>
#include <zarrpoint/distributed/strategy/bodies.hpp>
