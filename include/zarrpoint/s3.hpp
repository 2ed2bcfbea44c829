// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checkpoints in S3 and in stores that speak as it does (docs/s3.md). A transport is needed:
// that of curl.hpp, or one of your own.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/s3/bucket_client.hpp>
#include <zarrpoint/interop/s3/bucket_store.hpp>
#include <zarrpoint/interop/s3/credentials.hpp>
#include <zarrpoint/interop/s3/renewed_keys.hpp>
#include <zarrpoint/interop/s3/s3_client.hpp>
#include <zarrpoint/interop/s3/s3_store.hpp>
#include <zarrpoint/interop/s3/sha256.hpp>
#include <zarrpoint/interop/s3/sigv4.hpp>
#include <zarrpoint/interop/s3/xml_reader.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/s3/bucket_bodies.hpp>
#include <zarrpoint/interop/s3/bucket_store_bodies.hpp>
#include <zarrpoint/interop/s3/client_bodies.hpp>
#include <zarrpoint/interop/s3/credentials_bodies.hpp>
#include <zarrpoint/interop/s3/sign_bodies.hpp>
#include <zarrpoint/interop/s3/store_bodies.hpp>
#endif
