// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every codec that needs no other library than zstd, and what a codec of one's own is written
// against (docs/codecs.md). Those that need one have doors of their own: gzip.hpp, blosc_zlib.hpp,
// bz2.hpp, lzma.hpp; all_codecs.hpp has them all.
#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/registry.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>
#include <zarrpoint/codec/lists/numcodecs.hpp>
#include <zarrpoint/core/config.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/array_to_array/bodies.hpp>
#include <zarrpoint/codec/array_to_bytes/packbits_bodies.hpp>
#include <zarrpoint/codec/lists/bodies.hpp>
#include <zarrpoint/codec/n5/bodies.hpp>
#include <zarrpoint/codec/numcodecs/byte_bodies.hpp>
#include <zarrpoint/codec/numcodecs/number_bodies.hpp>
#include <zarrpoint/codec/numcodecs/object_bodies.hpp>
#include <zarrpoint/codec/pcodec/bodies.hpp>
#endif
