// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads all of a checkpoint and reports what is wrong with it; accepts attributes that another
// program edited.
#include <zarrpoint/checkpoint/verify/seal.hpp>
#include <zarrpoint/checkpoint/verify/verify.hpp>
#include <zarrpoint/core/config.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/verify/verify_bodies.hpp>
#endif
