// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checkpoints in Google Cloud Storage (docs/gcs.md). A transport is needed: that of curl.hpp, or
// one of your own.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/gcs/gcs_client.hpp>
#include <zarrpoint/interop/gcs/gcs_login.hpp>
#include <zarrpoint/interop/gcs/gcs_store.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/gcs/login_bodies.hpp>
#include <zarrpoint/interop/gcs/store_bodies.hpp>
#endif
