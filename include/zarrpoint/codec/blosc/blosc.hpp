// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/blosc/blosc_decode.hpp>
#include <zarrpoint/codec/blosc/blosc_encode.hpp>
#include <zarrpoint/codec/blosc/blosc_plane.hpp>
#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>
#include <zarrpoint/core/printable.hpp>

#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// What the streams of a Blosc frame are compressed with, as the metadata name it.
enum class blosc_compressor : std::uint8_t { blosclz, lz4, lz4hc, snappy, zlib, zstd };

/// What is sorted before it is compressed. `automatic`: bytes, and bits where elements have one, as
/// zarr-python and TensorStore have it when metadata say nothing. But weights of one byte, floats
/// and signed integers, stay as they are: sorted by bits they hardly get smaller, or not at all.
enum class blosc_shuffle : std::uint8_t { none, bytes, bits, automatic };

namespace detail {

inline constexpr std::array<std::string_view, 6> blosc_compressor_names{"blosclz", "lz4",  "lz4hc",
                                                                        "snappy",  "zlib", "zstd"};
inline constexpr std::array<std::string_view, 3> blosc_shuffle_names{"noshuffle", "shuffle",
                                                                     "bitshuffle"};

/// The streams of frames, but for those of zlib, which is opt in.
struct blosc_streams {
  /// Whether there is an encoder, here or in a header of its own; for others frames are stored.
  static constexpr bool encodes(blosc_format format) {
    return format == blosc_format::lz4 || format == blosc_format::zstd ||
           format == blosc_format::zlib;
  }

  static bool is_noise(bytes_view plane) { return is_noise_plane(plane); }

  static result<std::size_t> decode(blosc_format format, bytes_view from, mutable_bytes to,
                                    codec_workspace& scratch);

  static result<std::size_t> encode(const blosc_options& how, bytes_view from, mutable_bytes to,
                                    codec_workspace& scratch);

 private:
  static error no_zlib();
};

/// What `blosc_codec` and `blosc_zlib_codec` have in common.
template <class Self, class Streams>
struct blosc_base {
  static constexpr std::string_view name = "blosc";
  static constexpr std::array<std::string_view, 1> aliases{"numcodecs.blosc"};
  static constexpr bool fixed_size = false;

  blosc_compressor compressor = blosc_compressor::zstd;  ///< `cname`
  int level = 5;                                         ///< `clevel`: 0, stored, to 9
  blosc_shuffle shuffle = blosc_shuffle::automatic;
  std::size_t type_size = 0;   ///< `typesize`: bytes of an element; 0: that of the array's dtype
  std::size_t block_size = 0;  ///< `blocksize`; 0: chosen by the encoder

  void fields(configuration_fields& all) {
    all.choice("cname", compressor, blosc_compressor_names);
    all.integer("clevel", level, 0, 9);
    const json* const given = all.find("shuffle");
    if (given != nullptr && given->to_double()) {  // the number that numcodecs has for it
      int number = 0;
      all.integer("shuffle", number, -1, 2);
      shuffle = number == -1 ? blosc_shuffle::automatic : static_cast<blosc_shuffle>(number);
    } else {
      all.choice("shuffle", shuffle, blosc_shuffle_names, shuffle != blosc_shuffle::automatic);
    }
    if (all.reads() || type_size != 0) all.integer("typesize", type_size, 0, INT32_MAX);
    all.integer("blocksize", block_size, 0, INT32_MAX);
  }

  /// Fills in what depends on the dtype; strings have elements of one byte.
  result<Self> resolve(const tensor_spec& decoded) const {
    Self out = static_cast<const Self&>(*this);
    if (out.type_size == 0)
      out.type_size =
          decoded.type.is_variable() ? 1 : std::max<std::size_t>(decoded.type.size(), 1);
    const bool is_weight = decoded.type.is_floating() || decoded.type.is_signed_integer();
    if (out.shuffle == blosc_shuffle::automatic && out.type_size != 1)
      out.shuffle = blosc_shuffle::bytes;
    if (out.shuffle == blosc_shuffle::automatic)
      out.shuffle = is_weight ? blosc_shuffle::none : blosc_shuffle::bits;
    return out;
  }

  std::uint64_t encoded_bound(std::uint64_t decoded) const {
    return decoded > UINT64_MAX - blosc_header::size ? UINT64_MAX : decoded + blosc_header::size;
  }

  /// What its encoder does.
  blosc_options options() const {
    constexpr std::size_t max_type_size = 255;  // in one byte; larger elements are told as bytes
    blosc_options how;
    how.type_size = type_size == 0 || type_size > max_type_size ? 1 : type_size;
    how.block_size = block_size;
    how.level = level;
    if (shuffle == blosc_shuffle::bytes) how.shuffle = blosc_header::byte_shuffle;
    if (shuffle == blosc_shuffle::bits) how.shuffle = blosc_header::bit_shuffle;
    switch (compressor) {
      case blosc_compressor::blosclz: how.format = blosc_format::blosclz; break;
      case blosc_compressor::lz4:
      case blosc_compressor::lz4hc: how.format = blosc_format::lz4; break;
      case blosc_compressor::snappy: how.format = blosc_format::snappy; break;
      case blosc_compressor::zlib: how.format = blosc_format::zlib; break;
      case blosc_compressor::zstd: how.format = blosc_format::zstd; break;
    }
    return how;
  }

  result<std::size_t> encode(bytes_view from, mutable_bytes to, codec_workspace& scratch) const {
    if (from.size() > blosc_header::max_bytes)
      return error{errc::invalid_argument, std::to_string(from.size()) +
                                               " bytes in a chunk; a Blosc frame holds up to " +
                                               std::to_string(blosc_header::max_bytes)};
    result<std::size_t> written = blosc_writer<Streams>(options(), from, scratch).run(to);
    scratch.state<blosc_memory>().trim();
    scratch.state<plane_memory>().trim();
    return written;
  }

  result<std::size_t> decode(bytes_view from, mutable_bytes to, codec_workspace& scratch) const {
    ZARRPOINT_TRY(header, blosc_header::parse(from));
    if (header.bytes > to.size())
      return error{errc::out_of_range, "the frame holds " + std::to_string(header.bytes) +
                                           " bytes, but " + std::to_string(to.size()) +
                                           " are expected"};
    if (header.has(blosc_header::stored)) {
      if (header.bytes != 0) std::memcpy(to.data(), from.data() + blosc_header::size, header.bytes);
    } else {
      ZARRPOINT_CHECK(blosc_reader<Streams>(header, from, scratch).run(to.first(header.bytes)));
    }
    return header.bytes;
  }

  /// What the header of the frame says.
  std::optional<std::uint64_t> decoded_size(bytes_view stored) const {
    const result<blosc_header> header = blosc_header::parse(stored);
    if (!header) return std::nullopt;
    return header->bytes;
  }
};

}  // namespace detail

/// The codec `blosc`: frames of c-blosc 1 (Zarr v3 codecs, "Blosc codec"; numcodecs). Reads every
/// frame but those with zlib inside, which are `unsupported`: for them there is `blosc_zlib_codec`.
/// Writes zstd and LZ4 (for `lz4hc`, too); for `blosclz` and `snappy` stored frames.
struct blosc_codec : detail::blosc_base<blosc_codec, detail::blosc_streams> {};

}}  // namespace zarrpoint::v0
