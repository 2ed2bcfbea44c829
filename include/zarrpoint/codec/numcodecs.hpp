// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/astype.hpp>
#include <zarrpoint/codec/base64_codec.hpp>
#include <zarrpoint/codec/bitround.hpp>
#include <zarrpoint/codec/cast_value.hpp>
#include <zarrpoint/codec/categorize.hpp>
#include <zarrpoint/codec/checksum_codecs.hpp>
#include <zarrpoint/codec/default_codecs.hpp>
#include <zarrpoint/codec/delta.hpp>
#include <zarrpoint/codec/fixed_scale_offset.hpp>
#include <zarrpoint/codec/json2.hpp>
#include <zarrpoint/codec/lz4_codec.hpp>
#include <zarrpoint/codec/msgpack2.hpp>
#include <zarrpoint/codec/numcodecs_packbits.hpp>
#include <zarrpoint/codec/packbits.hpp>
#include <zarrpoint/codec/quantize.hpp>
#include <zarrpoint/codec/reshape.hpp>
#include <zarrpoint/codec/scale_offset.hpp>
#include <zarrpoint/codec/shuffle_codec.hpp>
#include <zarrpoint/codec/vlen_array.hpp>
#include <zarrpoint/codec/vlen_bytes.hpp>

namespace zarrpoint::inline v0 {

/// The default codecs and those of numcodecs that need no other library: what Zarr v2 arrays of
/// zarr-python may use as filters and compressors, and v3 arrays as `numcodecs.*`; and those of the
/// registry that change elements: bitround, cast_value, packbits, reshape, scale_offset.
using numcodecs_codecs =
    default_codecs::with<delta_codec, fixed_scale_offset_codec, quantize_codec, astype_codec,
                         numcodecs_packbits_codec, bitround_codec, cast_value_codec, packbits_codec,
                         reshape_codec, scale_offset_codec, crc32_codec, adler32_codec,
                         located_crc32c_codec, fletcher32_codec, jenkins_lookup3_codec,
                         shuffle_codec, base64_codec, lz4_codec, vlen_bytes_codec, vlen_array_codec,
                         categorize_codec, json2_codec, msgpack2_codec>;

}  // namespace zarrpoint::inline v0
