// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of stores of objects and of S3.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/interop/s3/bucket_bodies.hpp>
#include <zarrpoint/interop/s3/bucket_store_bodies.hpp>
#include <zarrpoint/interop/s3/client_bodies.hpp>
#include <zarrpoint/interop/s3/credentials_bodies.hpp>
#include <zarrpoint/interop/s3/sign_bodies.hpp>
#include <zarrpoint/interop/s3/store_bodies.hpp>
