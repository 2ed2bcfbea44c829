// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The steps of a training run: when to save, what to keep, which is the newest whole one.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/manager/manager.hpp>
#include <zarrpoint/manager/policies.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/manager/bodies.hpp>
#include <zarrpoint/manager/policy_bodies.hpp>
#endif
