// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Service accounts of Google sign in by RSA, which is OpenSSL's. Link libcrypto (-lcrypto).
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/gcs/openssl_rs256.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/core/bodies.hpp>
#endif
