// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/v2/typestr.hpp>

#include <span>
#include <string_view>

// The filters of Zarr v2: what each of them is in v3, and those of elements told as v3 codecs and
// back. Filters of v2 look at bytes, and the `dtype` of each says as what; codecs of v3 look at
// elements, and the byte order comes at the end.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// Where a codec of numcodecs stands in a chain of v3.
enum class v2_role { array_filter, object_filter, array_compressor, bytes_filter, compressor };

struct v2_codec_name {
  std::string_view id;  ///< in Zarr v2
  const char* name;     ///< in Zarr v3
  v2_role role;
};

inline constexpr v2_codec_name v2_codec_names[] = {
    {"delta", "numcodecs.delta", v2_role::array_filter},
    {"fixedscaleoffset", "numcodecs.fixedscaleoffset", v2_role::array_filter},
    {"quantize", "numcodecs.quantize", v2_role::array_filter},
    {"bitround", "numcodecs.bitround", v2_role::array_filter},
    {"astype", "numcodecs.astype", v2_role::array_filter},
    {"packbits", "numcodecs.packbits", v2_role::array_filter},
    {"vlen-utf8", "vlen-utf8", v2_role::object_filter},
    {"vlen-bytes", "vlen-bytes", v2_role::object_filter},
    {"vlen-array", "numcodecs.vlen-array", v2_role::object_filter},
    {"json2", "numcodecs.json2", v2_role::object_filter},
    {"msgpack2", "numcodecs.msgpack2", v2_role::object_filter},
    {"categorize", "numcodecs.categorize", v2_role::object_filter},
    {"zfpy", "numcodecs.zfpy", v2_role::array_compressor},
    {"pcodec", "numcodecs.pcodec", v2_role::array_compressor},
    {"shuffle", "numcodecs.shuffle", v2_role::bytes_filter},
    {"crc32", "numcodecs.crc32", v2_role::bytes_filter},
    {"crc32c", "crc32c", v2_role::bytes_filter},
    {"adler32", "numcodecs.adler32", v2_role::bytes_filter},
    {"fletcher32", "numcodecs.fletcher32", v2_role::bytes_filter},
    {"jenkins_lookup3", "numcodecs.jenkins_lookup3", v2_role::bytes_filter},
    {"zstd", "zstd", v2_role::compressor},
    {"gzip", "gzip", v2_role::compressor},
    {"zlib", "numcodecs.zlib", v2_role::compressor},
    {"blosc", "blosc", v2_role::compressor},
    {"lz4", "numcodecs.lz4", v2_role::compressor},
    {"bz2", "numcodecs.bz2", v2_role::compressor},
    {"lzma", "numcodecs.lzma", v2_role::compressor},
    {"base64", "numcodecs.base64", v2_role::compressor},
};

/// The row of an id of Zarr v2, or null.
const v2_codec_name* find_v2_id(std::string_view id);

/// The row of a codec of Zarr v3, or null. All of them may have "numcodecs." before their ids.
const v2_codec_name* find_v2_name(std::string_view name);

/// The options of a filter or compressor: all members but its id.
node v2_options(const node& value);

/// A `dtype` of a filter: a typestr; one without byte order, `f8`; or a name, `float64`.
result<v2_dtype> parse_v2_filter_dtype(const node& value);

/// An array filter as a codec; `elements` is what it gets, and becomes what it makes. The codec
/// gets elements in memory: it only has to know whether its `dtype` has another byte order than
/// they have, and `>` says so.
result<codec_spec> parse_v2_array_filter(const node& filter, const v2_codec_name& row,
                                         v2_dtype& elements);

/// Array codecs of a v3 chain as filters; `elements` is of the array, in the byte order that the
/// chain stores, and all types in between get that order, too.
result<node::array> to_v2_array_filters(std::span<const codec_spec> codecs,
                                        const v2_dtype& elements);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/zarr/v2/impl/v2_filters_impl.hpp>
#endif
