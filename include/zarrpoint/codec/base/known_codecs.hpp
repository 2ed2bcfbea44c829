// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>

#include <string>
#include <string_view>

// What to say of a codec that a table does not hold.
namespace zarrpoint { inline namespace v0 { namespace detail {

// Pointers, since a `string_view` takes twice the room in a small program.
struct codec_note {
  const char* name;  ///< as in metadata, without "numcodecs."
  const char* header;
  const char* codecs;  ///< what to add to `default_codecs`; empty: the header has a registry
};

/// Codecs that the library has beside the default ones.
inline constexpr codec_note opt_in_codecs[] = {
    {"gzip", "gzip.hpp", "gzip_codec, zlib_codec"},
    {"zlib", "gzip.hpp", "gzip_codec, zlib_codec"},
    {"bz2", "bz2.hpp", "bz2_codec"},
    {"lzma", "lzma.hpp", "lzma_codec"},
    {"zfp", "zfp.hpp", "zfp_codec, zfpy_codec"},
    {"zfpy", "zfp.hpp", "zfp_codec, zfpy_codec"},
    {"adler32", "codecs.hpp", ""},
    {"astype", "codecs.hpp", ""},
    {"base64", "codecs.hpp", ""},
    {"bitround", "codecs.hpp", ""},
    {"cast_value", "codecs.hpp", ""},
    {"categorize", "codecs.hpp", ""},
    {"crc32", "codecs.hpp", ""},
    {"crc32c", "codecs.hpp", ""},
    {"delta", "codecs.hpp", ""},
    {"fixedscaleoffset", "codecs.hpp", ""},
    {"fletcher32", "codecs.hpp", ""},
    {"jenkins_lookup3", "codecs.hpp", ""},
    {"json2", "codecs.hpp", ""},
    {"lz4", "codecs.hpp", ""},
    {"msgpack2", "codecs.hpp", ""},
    {"n5_default", "codecs.hpp", ""},
    {"packbits", "codecs.hpp", ""},
    {"pcodec", "codecs.hpp", ""},
    {"quantize", "codecs.hpp", ""},
    {"reshape", "codecs.hpp", ""},
    {"scale_offset", "codecs.hpp", ""},
    {"shuffle", "codecs.hpp", ""},
    {"vlen-array", "codecs.hpp", ""},
};

struct codec_refusal {
  std::string_view name;  ///< without "numcodecs."; one that ends in '.' or '_' is a prefix
  std::string_view reason;
};

/// Codecs of others that the library does not have.
inline constexpr codec_refusal refused_codecs[] = {
    {"pickle", "reading it would run code that the file holds"},
    {"n5_wrapper", "it is for blocks of N5"},
    {"conditional", "no other reader of Zarr has it either"},
    {"json", "of numcodecs before 0.6, and lost the shape: write the array again with json2"},
    {"msgpack", "of numcodecs before 0.6, and lost the shape: write the array again with msgpack2"},
    {"zarrs.", "an experiment of zarrs"},
    {"https:", "an experiment of zarrs"},
    {"imagecodecs_", "a codec of the Python package imagecodecs"},
};

/// Of the opt-in codecs, those that Zarr v3 has only by the name with "numcodecs." before it.
inline constexpr std::string_view prefixed_codecs[] = {
    "adler32",    "astype",          "base64", "bz2",
    "categorize", "crc32",           "delta",  "fixedscaleoffset",
    "fletcher32", "jenkins_lookup3", "json2",  "lz4",
    "lzma",       "msgpack2",        "pcodec", "quantize",
    "shuffle",    "vlen-array",      "zfpy",
};

/// What to do about the codec `name`, as a bracket that follows it in an error.
std::string about_codec(std::string_view name);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/base/impl/known_codecs_impl.hpp>
#endif
