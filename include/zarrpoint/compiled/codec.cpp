// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of codecs.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/codec/array_to_array/bodies.hpp>
#include <zarrpoint/codec/array_to_array/transpose_bodies.hpp>
#include <zarrpoint/codec/array_to_bytes/bodies.hpp>
#include <zarrpoint/codec/array_to_bytes/packbits_bodies.hpp>
#include <zarrpoint/codec/base/bodies.hpp>
#include <zarrpoint/codec/blosc/blosc_bodies.hpp>
#include <zarrpoint/codec/blosc/encode_plan_bodies.hpp>
#include <zarrpoint/codec/blosc/frame_plan_bodies.hpp>
#include <zarrpoint/codec/blosc/huffman_bodies.hpp>
#include <zarrpoint/codec/bytes_to_bytes/crc32c_bodies.hpp>
#include <zarrpoint/codec/bytes_to_bytes/zstd_bodies.hpp>
#include <zarrpoint/codec/kit/lz_bodies.hpp>
#include <zarrpoint/codec/kit/number_bodies.hpp>
#include <zarrpoint/codec/lists/bodies.hpp>
#include <zarrpoint/codec/n5/bodies.hpp>
#include <zarrpoint/codec/numcodecs/byte_bodies.hpp>
#include <zarrpoint/codec/numcodecs/number_bodies.hpp>
#include <zarrpoint/codec/numcodecs/object_bodies.hpp>
#include <zarrpoint/codec/pcodec/bodies.hpp>
