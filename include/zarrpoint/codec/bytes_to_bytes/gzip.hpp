// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Opt in: include this header, link zlib, and use `default_codecs::with<gzip_codec, zlib_codec>`.

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/spec.hpp>
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

/// A stream of zlib, whose memory comes from a resource, which counts it.
class zlib_stream {
 public:
  explicit zlib_stream(memory_resource& from) : memory_(from) {
    stream_.zalloc = [](void* memory, uInt items, uInt size) {
      return library_memory::allocate(memory, std::size_t{items} * size);
    };
    stream_.zfree = library_memory::deallocate;
    stream_.opaque = &memory_;
  }
  z_stream& get() { return stream_; }
  error no_memory(std::string_view what) const { return memory_.no_memory(what); }

 private:
  library_memory memory_;
  z_stream stream_{};
};

/// The inflater of one worker, kept from chunk to chunk.
class inflate_state {
 public:
  explicit inflate_state(memory_resource& from) : stream_(from) {}
  inflate_state(const inflate_state&) = delete;
  inflate_state& operator=(const inflate_state&) = delete;
  ~inflate_state() {
    if (ready_) inflateEnd(&stream_.get());
  }

  /// Makes it ready for a new stream.
  result<void> begin(deflate_framing framing) {
    const int bits = MAX_WBITS + static_cast<int>(framing);
    z_stream* const stream = &stream_.get();
    if ((ready_ ? inflateReset2(stream, bits) : inflateInit2(stream, bits)) != Z_OK)
      return no_memory();
    ready_ = true;
    return {};
  }
  z_stream& get() { return stream_.get(); }
  error no_memory() const { return stream_.no_memory("a decompressor"); }

 private:
  zlib_stream stream_;
  bool ready_ = false;
};

/// The deflater of one worker, kept while framing and level stay the same.
class deflate_state {
 public:
  explicit deflate_state(memory_resource& from) : stream_(from) {}
  deflate_state(const deflate_state&) = delete;
  deflate_state& operator=(const deflate_state&) = delete;
  ~deflate_state() { end(); }

  /// Ready for a new stream. Errors: `resource_limit`.
  result<z_stream*> begin(deflate_framing framing, int level) {
    z_stream* const stream = &stream_.get();
    if (ready_ && framing == framing_ && level == level_ && deflateReset(stream) == Z_OK)
      return stream;
    end();
    const int bits = MAX_WBITS + static_cast<int>(framing);
    ready_ = deflateInit2(stream, level, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    framing_ = framing;
    level_ = level;
    if (!ready_) return stream_.no_memory("a compressor");
    return stream;
  }

 private:
  void end() {
    if (ready_) deflateEnd(&stream_.get());
    ready_ = false;
  }

  zlib_stream stream_;
  bool ready_ = false;
  deflate_framing framing_{};
  int level_ = 0;
};

inline result<std::size_t> deflate_bytes(bytes_view from, mutable_bytes to, z_stream* stream) {
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
inline result<std::size_t> inflate_bytes(bytes_view& from, mutable_bytes to, inflate_state& state) {
  z_stream& stream = state.get();
  stream.avail_in = 0;
  stream.avail_out = 0;
  stream_cursor<z_stream> cursor(from, to);
  int status = Z_OK;
  while (status == Z_OK) {
    cursor.refill(stream);
    status = inflate(&stream, Z_NO_FLUSH);
  }
  from = from.last(cursor.input_left(stream));
  if (status == Z_STREAM_END) return to.size() - cursor.output_left(stream);
  if (status == Z_MEM_ERROR) return state.no_memory();
  if (status == Z_NEED_DICT)
    return error{errc::unsupported, "the stream needs a dictionary, which is not supported"};
  if (status != Z_BUF_ERROR)
    return error{errc::corrupt, stream.msg != nullptr ? stream.msg : "the stream is damaged"};
  // No progress: input or output has run out. One more byte of room tells which.
  Bytef one_more = 0;
  stream.next_out = &one_more;
  stream.avail_out = 1;
  if (cursor.output_left(stream) == 1 && (inflate(&stream, Z_NO_FLUSH), stream.avail_out == 0))
    return error{errc::out_of_range,
                 "more than the " + std::to_string(to.size()) + " bytes expected"};
  return error{errc::corrupt, "the stream is truncated"};
}

/// What `gzip` and `zlib` have in common.
template <class Self, deflate_framing Framing>
struct deflate_codec {
  static constexpr bool fixed_size = false;

  int level = 5;  ///< 0 to 9

  void fields(configuration_fields& all) {
    all.integer("level", level, -1, 9);
    if (level == -1) level = 6;  // zlib's own default, which Python writes and Zarr v3 has not
  }

  /// What `deflateBound` guarantees for every level, with a gzip header of 18 bytes.
  std::uint64_t encoded_bound(std::uint64_t decoded) const {
    const std::uint64_t extra = (decoded >> 3) + (decoded >> 6) + 64;
    return decoded > UINT64_MAX - extra ? UINT64_MAX : decoded + extra;
  }

  result<std::size_t> encode(bytes_view from, mutable_bytes to, codec_workspace& scratch) const {
    ZARRPOINT_TRY(stream, scratch.state<deflate_state>().begin(Framing, level));
    return deflate_bytes(from, to, stream);
  }

 protected:
  static result<std::size_t> inflate(bytes_view& from, mutable_bytes to, codec_workspace& scratch) {
    auto& state = scratch.state<inflate_state>();
    ZARRPOINT_CHECK(state.begin(Framing));
    return inflate_bytes(from, to, state);
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
    return error{errc::corrupt, std::to_string(from.size()) + " bytes follow the stream"};
  }
};

}}  // namespace zarrpoint::v0
