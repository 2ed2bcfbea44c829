// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of the manager of steps.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/manager/bodies.hpp>
#include <zarrpoint/manager/group_bodies.hpp>
#include <zarrpoint/manager/policy_bodies.hpp>
