// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The steps of a training run of many processes.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/manager/group_manager.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/manager/group_bodies.hpp>
#endif
