// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>

#include <string>
#include <string_view>

// What to say of a codec that a table does not hold.
namespace zarrpoint::inline v0::detail {

struct codec_note {
  std::string_view name;  ///< as in metadata, without "numcodecs."
  std::string_view header;
  std::string_view codecs;  ///< what to add to `default_codecs`; empty: the header has a registry
};

/// Codecs that the library has beside the default ones.
inline constexpr codec_note opt_in_codecs[] = {
    {"gzip", "codec/gzip.hpp", "gzip_codec, zlib_codec"},
    {"zlib", "codec/gzip.hpp", "gzip_codec, zlib_codec"},
    {"bz2", "codec/bz2.hpp", "bz2_codec"},
    {"lzma", "codec/lzma.hpp", "lzma_codec"},
    {"adler32", "codec/numcodecs.hpp", ""},
    {"astype", "codec/numcodecs.hpp", ""},
    {"base64", "codec/numcodecs.hpp", ""},
    {"bitround", "codec/numcodecs.hpp", ""},
    {"cast_value", "codec/numcodecs.hpp", ""},
    {"categorize", "codec/numcodecs.hpp", ""},
    {"crc32", "codec/numcodecs.hpp", ""},
    {"crc32c", "codec/numcodecs.hpp", ""},
    {"delta", "codec/numcodecs.hpp", ""},
    {"fixedscaleoffset", "codec/numcodecs.hpp", ""},
    {"fletcher32", "codec/numcodecs.hpp", ""},
    {"jenkins_lookup3", "codec/numcodecs.hpp", ""},
    {"json2", "codec/numcodecs.hpp", ""},
    {"lz4", "codec/numcodecs.hpp", ""},
    {"msgpack2", "codec/numcodecs.hpp", ""},
    {"packbits", "codec/numcodecs.hpp", ""},
    {"quantize", "codec/numcodecs.hpp", ""},
    {"reshape", "codec/numcodecs.hpp", ""},
    {"scale_offset", "codec/numcodecs.hpp", ""},
    {"shuffle", "codec/numcodecs.hpp", ""},
    {"vlen-array", "codec/numcodecs.hpp", ""},
};

struct codec_refusal {
  std::string_view name;  ///< without "numcodecs."; one that ends in '.' or '_' is a prefix
  std::string_view reason;
};

/// Codecs of others that the library does not have.
inline constexpr codec_refusal refused_codecs[] = {
    {"pickle", "reading it would run code that the file holds"},
    {"pcodec", "its format is that of the library pcodec alone"},
    {"zfpy", "its format is that of the library zfp alone"},
    {"zfp", "its format is that of the library zfp alone"},
    {"n5_default", "blocks of N5; no other reader of Zarr has it either"},
    {"n5_wrapper", "blocks of N5"},
    {"conditional", "no other reader of Zarr has it either"},
    {"json", "of numcodecs before 0.6, and lost the shape: write the array again with json2"},
    {"msgpack", "of numcodecs before 0.6, and lost the shape: write the array again with msgpack2"},
    {"zarrs.", "an experiment of zarrs"},
    {"https:", "an experiment of zarrs"},
    {"imagecodecs_", "a codec of the Python package imagecodecs"},
};

/// What to do about the codec `name`, as a bracket that follows it in an error; empty for one that
/// nothing is known of.
std::string about_codec(std::string_view name);

}  // namespace zarrpoint::inline v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/known_codecs_impl.hpp>
#endif
