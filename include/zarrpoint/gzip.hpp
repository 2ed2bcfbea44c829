// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The codecs gzip and zlib. Link zlib (-lz).
#include <zarrpoint/codec/bytes_to_bytes/gzip.hpp>
#include <zarrpoint/core/config.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/kit/lz_bodies.hpp>
#endif
