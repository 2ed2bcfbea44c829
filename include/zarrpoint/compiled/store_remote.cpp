// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of stores over HTTP, and of a cache for them.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/store/read_cache_bodies.hpp>
#include <zarrpoint/store/remote/bodies.hpp>
#include <zarrpoint/store/remote/client_bodies.hpp>
#include <zarrpoint/store/remote/store_bodies.hpp>
