// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The codec lzma. Link liblzma (-llzma).
#include <zarrpoint/codec/bytes_to_bytes/lzma.hpp>
#include <zarrpoint/core/config.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/kit/lz_bodies.hpp>
#endif
