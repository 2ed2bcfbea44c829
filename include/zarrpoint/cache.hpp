// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What was read from distant stores, kept on disk and in memory (docs/remote.md).
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/store/read_cache.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/store/read_cache_bodies.hpp>
#endif
