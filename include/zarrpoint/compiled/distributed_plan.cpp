// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of many processes: communicators and plans.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/distributed/communicate/bodies.hpp>
#include <zarrpoint/distributed/plan/check_bodies.hpp>
#include <zarrpoint/distributed/plan/plan_bodies.hpp>
#include <zarrpoint/distributed/plan/table_bodies.hpp>
