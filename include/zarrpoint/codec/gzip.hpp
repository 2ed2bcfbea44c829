// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Opt in: include this header, link zlib, and use `default_codecs::with<gzip_codec, zlib_codec>`.

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/configuration.hpp>
#include <zarrpoint/codec/kit/stream_library.hpp>

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// The two framings of a deflate stream; the numbers are what zlib adds to its window bits.
enum class deflate_framing : int { zlib = 0, gzip = 16 };

/// zlib's memory comes from a memory resource, which counts it.
struct zlib_memory {
  static void connect(z_stream& stream, memory_resource& from) {
    stream.zalloc = [](void* resource, uInt items, uInt size) {
      return library_memory::allocate(resource, std::size_t{items} * size);
    };
    stream.zfree = library_memory::deallocate;
    stream.opaque = &from;
  }
};

/// The inflater of one worker, kept from chunk to chunk.
class inflate_state {
 public:
  explicit inflate_state(memory_resource& from) { zlib_memory::connect(stream_, from); }
  inflate_state(const inflate_state&) = delete;
  inflate_state& operator=(const inflate_state&) = delete;
  ~inflate_state() {
    if (ready_) inflateEnd(&stream_);
  }

  /// Ready for a new stream, or null when there is no memory for it.
  z_stream* begin(deflate_framing framing) {
    const int bits = MAX_WBITS + static_cast<int>(framing);
    if (ready_) return inflateReset2(&stream_, bits) == Z_OK ? &stream_ : nullptr;
    ready_ = inflateInit2(&stream_, bits) == Z_OK;
    return ready_ ? &stream_ : nullptr;
  }

 private:
  z_stream stream_{};
  bool ready_ = false;
};

/// The deflater of one worker, kept while framing and level stay the same.
class deflate_state {
 public:
  explicit deflate_state(memory_resource& from) { zlib_memory::connect(stream_, from); }
  deflate_state(const deflate_state&) = delete;
  deflate_state& operator=(const deflate_state&) = delete;
  ~deflate_state() { end(); }

  /// Ready for a new stream, or null when there is no memory for it.
  z_stream* begin(deflate_framing framing, int level) {
    if (ready_ && framing == framing_ && level == level_)
      return deflateReset(&stream_) == Z_OK ? &stream_ : nullptr;
    end();
    const int bits = MAX_WBITS + static_cast<int>(framing);
    ready_ = deflateInit2(&stream_, level, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    framing_ = framing;
    level_ = level;
    return ready_ ? &stream_ : nullptr;
  }

 private:
  void end() {
    if (ready_) deflateEnd(&stream_);
    ready_ = false;
  }

  z_stream stream_{};
  bool ready_ = false;
  deflate_framing framing_{};
  int level_ = 0;
};

inline result<std::size_t> deflate_bytes(bytes_view from, mutable_bytes to, z_stream* stream) {
  if (stream == nullptr) return error{errc::resource_limit, "cannot allocate a compressor"};
  stream->avail_in = 0;
  stream->avail_out = 0;
  stream_cursor<z_stream> cursor(from, to);
  int status = Z_OK;
  while (status == Z_OK) {
    cursor.refill(*stream);
    status =
        deflate(stream, cursor.input_left(*stream) == stream->avail_in ? Z_FINISH : Z_NO_FLUSH);
  }
  if (status != Z_STREAM_END) return error{errc::out_of_range, "the output does not fit"};
  return to.size() - cursor.output_left(*stream);
}

/// One stream from the start of `from`, which moves on past it; returns the bytes written.
inline result<std::size_t> inflate_bytes(bytes_view& from, mutable_bytes to, z_stream* stream) {
  if (stream == nullptr) return error{errc::resource_limit, "cannot allocate a decompressor"};
  stream->avail_in = 0;
  stream->avail_out = 0;
  stream_cursor<z_stream> cursor(from, to);
  int status = Z_OK;
  while (status == Z_OK) {
    cursor.refill(*stream);
    status = inflate(stream, Z_NO_FLUSH);
  }
  from = from.last(cursor.input_left(*stream));
  if (status == Z_STREAM_END) return to.size() - cursor.output_left(*stream);
  if (status == Z_MEM_ERROR) return error{errc::resource_limit, "cannot allocate a decompressor"};
  if (status == Z_NEED_DICT) return error{errc::unsupported, "the stream needs a dictionary"};
  if (status != Z_BUF_ERROR)
    return error{errc::corrupt, stream->msg != nullptr ? stream->msg : "bad stream"};
  // No progress: input or output has run out. One more byte of room tells which.
  Bytef one_more = 0;
  stream->next_out = &one_more;
  stream->avail_out = 1;
  if (cursor.output_left(*stream) == 1 && (inflate(stream, Z_NO_FLUSH), stream->avail_out == 0))
    return error{errc::out_of_range,
                 "more than the " + std::to_string(to.size()) + " bytes expected"};
  return error{errc::corrupt, "stream truncated"};
}

/// What `gzip` and `zlib` have in common.
template <class Self, deflate_framing Framing>
struct deflate_codec {
  static constexpr bool fixed_size = false;

  int level = 5;  ///< 0 to 9

  static result<Self> from_configuration(const node& configuration) {
    ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {"level"}));
    ZARRPOINT_TRY(level, reader.integer("level", -1, 9));
    Self out;
    // -1 is zlib's own default, which Python writes and Zarr v3 does not know.
    if (level) out.level = *level == -1 ? 6 : static_cast<int>(*level);
    return out;
  }
  node configuration() const { return node::object{{"level", node(level)}}; }

  /// What `deflateBound` guarantees for every level, with a gzip header of 18 bytes.
  std::uint64_t encoded_bound(std::uint64_t decoded) const {
    const std::uint64_t extra = (decoded >> 3) + (decoded >> 6) + 64;
    return decoded > UINT64_MAX - extra ? UINT64_MAX : decoded + extra;
  }

  result<std::size_t> encode(bytes_view from, mutable_bytes to, codec_workspace& scratch) const {
    return deflate_bytes(from, to, scratch.state<deflate_state>().begin(Framing, level));
  }

 protected:
  static result<std::size_t> inflate(bytes_view& from, mutable_bytes to, codec_workspace& scratch) {
    return inflate_bytes(from, to, scratch.state<inflate_state>().begin(Framing));
  }
};

}  // namespace detail

/// The codec `gzip` (RFC 1952; Zarr v3 codecs, "gzip"). Writes one member without a time stamp;
/// reads any number of them, and zeros after the last, as tape padding.
struct gzip_codec : detail::deflate_codec<gzip_codec, detail::deflate_framing::gzip> {
  static constexpr std::string_view name = "gzip";
  static constexpr std::array<std::string_view, 1> aliases{"numcodecs.gzip"};

  result<std::size_t> decode(bytes_view from, mutable_bytes to, codec_workspace& scratch) const {
    std::size_t done = 0;
    do {
      ZARRPOINT_TRY(written, inflate(from, to.subspan(done), scratch));
      done += written;
    } while (!std::all_of(from.begin(), from.end(), [](std::byte b) { return b == std::byte{}; }));
    return done;
  }
};

/// The compressor `zlib` of Zarr v2 (RFC 1950), in v3 `numcodecs.zlib`: one stream, and nothing
/// after it.
struct zlib_codec : detail::deflate_codec<zlib_codec, detail::deflate_framing::zlib> {
  static constexpr std::string_view name = "numcodecs.zlib";
  static constexpr std::array<std::string_view, 1> aliases{"zlib"};

  result<std::size_t> decode(bytes_view from, mutable_bytes to, codec_workspace& scratch) const {
    ZARRPOINT_TRY(written, inflate(from, to, scratch));
    if (from.empty()) return written;
    return error{errc::corrupt, std::to_string(from.size()) + " bytes after the stream"};
  }
};

}}  // namespace zarrpoint::v0
