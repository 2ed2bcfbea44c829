// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// `json` to and from nlohmann/json, which nothing else of the library includes.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/nlohmann.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/core/bodies.hpp>
#endif
