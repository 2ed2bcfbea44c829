// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of stores of Google Cloud.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/interop/gcs/login_bodies.hpp>
#include <zarrpoint/interop/gcs/store_bodies.hpp>
