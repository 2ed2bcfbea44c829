// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// The facts of each codec: what to say where a table does not hold it, and what it is in Zarr v2.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// Where programs get a codec: a place in `codec_doors`.
enum class codec_door : std::uint8_t { defaults, numcodecs, gzip, bz2, lzma, zfp };

// Pointers here and below, since a `string_view` takes twice the room in a small program.
struct codec_door_note {
  const char* header;
  const char* codecs;  ///< the registry to use
};

inline constexpr codec_door_note codec_doors[] = {
    {"codecs.hpp", "default_codecs"},
    {"codecs.hpp", "numcodecs_codecs"},
    {"gzip.hpp", "default_codecs::with<gzip_codec, zlib_codec>"},
    {"bz2.hpp", "default_codecs::with<bz2_codec>"},
    {"lzma.hpp", "default_codecs::with<lzma_codec>"},
    {"zfp.hpp", "default_codecs::with<zfp_codec, zfpy_codec>"},
};

/// The name of a codec in Zarr v3: the short one; that with "numcodecs." before it; or, where both
/// are names, the latter for the codec of v2.
enum class v3_spelling : std::uint8_t { plain, prefixed, both };

/// Where a codec of Zarr v2 stands in a chain of v3; `none` for one that v2 does not have.
enum class v2_role : std::uint8_t {
  none,
  array_filter,
  object_filter,
  array_compressor,
  bytes_filter,
  compressor
};

struct known_codec {
  const char* name;  ///< as in metadata, without "numcodecs."
  codec_door door;
  v3_spelling spelling;
  v2_role role;

  constexpr std::string_view id() const noexcept { return name; }
};

/// Codecs of the library that an error may name or that Zarr v2 has. A new one gets a row here, a
/// place in the list of its door, and a row in docs/codecs.md.
inline constexpr known_codec known_codecs[] = {
    {"vlen-utf8", codec_door::defaults, v3_spelling::plain, v2_role::object_filter},
    {"vlen-bytes", codec_door::defaults, v3_spelling::plain, v2_role::object_filter},
    {"zstd", codec_door::defaults, v3_spelling::plain, v2_role::compressor},
    {"blosc", codec_door::defaults, v3_spelling::plain, v2_role::compressor},
    {"gzip", codec_door::gzip, v3_spelling::plain, v2_role::compressor},
    {"zlib", codec_door::gzip, v3_spelling::both, v2_role::compressor},
    {"bz2", codec_door::bz2, v3_spelling::prefixed, v2_role::compressor},
    {"lzma", codec_door::lzma, v3_spelling::prefixed, v2_role::compressor},
    {"zfp", codec_door::zfp, v3_spelling::plain, v2_role::none},
    {"zfpy", codec_door::zfp, v3_spelling::prefixed, v2_role::array_compressor},
    {"pcodec", codec_door::numcodecs, v3_spelling::prefixed, v2_role::array_compressor},
    {"delta", codec_door::numcodecs, v3_spelling::prefixed, v2_role::array_filter},
    {"fixedscaleoffset", codec_door::numcodecs, v3_spelling::prefixed, v2_role::array_filter},
    {"quantize", codec_door::numcodecs, v3_spelling::prefixed, v2_role::array_filter},
    {"astype", codec_door::numcodecs, v3_spelling::prefixed, v2_role::array_filter},
    {"bitround", codec_door::numcodecs, v3_spelling::both, v2_role::array_filter},
    {"packbits", codec_door::numcodecs, v3_spelling::both, v2_role::array_filter},
    {"vlen-array", codec_door::numcodecs, v3_spelling::prefixed, v2_role::object_filter},
    {"json2", codec_door::numcodecs, v3_spelling::prefixed, v2_role::object_filter},
    {"msgpack2", codec_door::numcodecs, v3_spelling::prefixed, v2_role::object_filter},
    {"categorize", codec_door::numcodecs, v3_spelling::prefixed, v2_role::object_filter},
    {"shuffle", codec_door::numcodecs, v3_spelling::prefixed, v2_role::bytes_filter},
    {"crc32", codec_door::numcodecs, v3_spelling::prefixed, v2_role::bytes_filter},
    {"adler32", codec_door::numcodecs, v3_spelling::prefixed, v2_role::bytes_filter},
    {"fletcher32", codec_door::numcodecs, v3_spelling::prefixed, v2_role::bytes_filter},
    {"jenkins_lookup3", codec_door::numcodecs, v3_spelling::prefixed, v2_role::bytes_filter},
    {"crc32c", codec_door::numcodecs, v3_spelling::plain, v2_role::bytes_filter},
    {"lz4", codec_door::numcodecs, v3_spelling::prefixed, v2_role::compressor},
    {"base64", codec_door::numcodecs, v3_spelling::prefixed, v2_role::compressor},
    {"cast_value", codec_door::numcodecs, v3_spelling::plain, v2_role::none},
    {"n5_default", codec_door::numcodecs, v3_spelling::plain, v2_role::none},
    {"reshape", codec_door::numcodecs, v3_spelling::plain, v2_role::none},
    {"scale_offset", codec_door::numcodecs, v3_spelling::plain, v2_role::none},
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
    {"json", "of numcodecs before 0.6, without the shape: write it anew with json2"},
    {"msgpack", "of numcodecs before 0.6, without the shape: write it anew with msgpack2"},
    {"zarrs.", "an experiment of zarrs"},
    {"https:", "an experiment of zarrs"},
    {"imagecodecs_", "a codec of the Python package imagecodecs"},
};

/// What to do about the codec `name`, as a bracket that follows it in an error.
std::string about_codec(std::string_view name);

}}}  // namespace zarrpoint::v0::detail
