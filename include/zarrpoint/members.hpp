// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Values that are several leaves: structs by their named members, optional, variant, pair, tuple,
// map, vector of such; and enumerations (docs/handlers.md).
#include <zarrpoint/checkpoint/load/load_members.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/handler/members.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/load/bodies.hpp>
#endif
