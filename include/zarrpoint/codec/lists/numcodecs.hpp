// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/array_to_array/elements.hpp>
#include <zarrpoint/codec/array_to_bytes/packbits.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>
#include <zarrpoint/codec/n5/n5_codec.hpp>
#include <zarrpoint/codec/numcodecs/byte_codecs.hpp>
#include <zarrpoint/codec/numcodecs/number_filters.hpp>
#include <zarrpoint/codec/numcodecs/object_codecs.hpp>
#include <zarrpoint/codec/pcodec/pcodec.hpp>

namespace zarrpoint { inline namespace v0 {

/// The default codecs and those of numcodecs that need no other library. Zarr v2 arrays of
/// zarr-python may use them as filters and compressors, and v3 arrays as `numcodecs.NAME`. Beside
/// them are those of the registry: bitround, cast_value, n5_default, packbits, reshape,
/// scale_offset.
using numcodecs_codecs =
    default_codecs::with<delta_codec, fixed_scale_offset_codec, quantize_codec, astype_codec,
                         numcodecs_packbits_codec, bitround_codec, cast_value_codec, packbits_codec,
                         reshape_codec, scale_offset_codec, crc32_codec, adler32_codec,
                         located_crc32c_codec, fletcher32_codec, jenkins_lookup3_codec,
                         shuffle_codec, base64_codec, lz4_codec, vlen_bytes_codec, vlen_array_codec,
                         categorize_codec, json2_codec, msgpack2_codec, n5_codec, pcodec_codec>;

}}  // namespace zarrpoint::v0
