// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every codec. Link zlib, bzip2 and liblzma (-lz -lbz2 -llzma).
#include <zarrpoint/codec/lists/all_codecs.hpp>
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
