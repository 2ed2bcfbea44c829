// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Blosc with zlib inside. Link zlib (-lz).
#include <zarrpoint/codec/blosc/blosc_zlib.hpp>
#include <zarrpoint/core/config.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/blosc/huffman_bodies.hpp>
#endif
