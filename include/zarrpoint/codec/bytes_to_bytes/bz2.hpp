// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Opt in: include this header, link bzip2 (-lbz2), and use `default_codecs::with<bz2_codec>`.

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/kit/stream_library.hpp>

#include <bzlib.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// A stream of bzip2, from begin to end of one use: it has no way to start anew.
class bz2_stream {
 public:
  explicit bz2_stream(memory_resource& from) : memory_(from) {
    stream_.bzalloc = [](void* memory, int items, int size) {
      return library_memory::allocate(
          memory, static_cast<std::size_t>(items) * static_cast<std::size_t>(size));
    };
    stream_.bzfree = library_memory::deallocate;
    stream_.opaque = &memory_;
  }
  bz2_stream(const bz2_stream&) = delete;
  bz2_stream& operator=(const bz2_stream&) = delete;
  ~bz2_stream() {
    if (end_ != nullptr) end_(&stream_);
  }

  bool begin_encoder(int level) {
    const bool ready = BZ2_bzCompressInit(&stream_, level, 0, 0) == BZ_OK;
    if (ready) end_ = BZ2_bzCompressEnd;
    return ready;
  }
  bool begin_decoder() {
    const bool ready = BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK;
    if (ready) end_ = BZ2_bzDecompressEnd;
    return ready;
  }
  bz_stream& get() { return stream_; }
  error no_memory(std::string_view what) const { return memory_.no_memory(what); }

 private:
  library_memory memory_;
  bz_stream stream_{};
  int (*end_)(bz_stream*) = nullptr;
};

/// One stream from the start of `from`, which moves on past it; returns the bytes written.
inline result<std::size_t> bz2_decode(bytes_view& from, mutable_bytes to, memory_resource& memory) {
  bz2_stream held(memory);
  if (!held.begin_decoder()) return held.no_memory("a decompressor");
  bz_stream& stream = held.get();
  stream_cursor<bz_stream> cursor(from, to);
  int status = BZ_OK;
  while (status == BZ_OK) {
    cursor.refill(stream);
    const std::size_t before = cursor.input_left(stream) + cursor.output_left(stream);
    status = BZ2_bzDecompress(&stream);
    if (status == BZ_OK && cursor.input_left(stream) + cursor.output_left(stream) == before) break;
  }
  from = from.last(cursor.input_left(stream));
  if (status == BZ_STREAM_END) return to.size() - cursor.output_left(stream);
  if (status == BZ_MEM_ERROR) return held.no_memory("a decompressor");
  if (status != BZ_OK) return error{errc::corrupt, "the stream is damaged"};
  // No progress: input or output has run out. One more byte of room tells which.
  char one_more = 0;
  stream.next_out = &one_more;
  stream.avail_out = 1;
  if (cursor.output_left(stream) == 1 && (BZ2_bzDecompress(&stream), stream.avail_out == 0))
    return error{errc::out_of_range,
                 "more than the " + std::to_string(to.size()) + " bytes expected"};
  return error{errc::corrupt, "the stream is truncated"};
}

}  // namespace detail

/// The codec `numcodecs.bz2` (bzip2). Writes one stream; reads one or more, and nothing else after
/// the last.
struct bz2_codec {
  static constexpr std::string_view name = "numcodecs.bz2";
  static constexpr bool fixed_size = false;

  int level = 1;  ///< 1 to 9: blocks of so many 100 kB

  void fields(configuration_fields& all) { all.integer("level", level, 1, 9); }

  /// What the manual of bzip2 guarantees.
  std::uint64_t encoded_bound(std::uint64_t decoded) const {
    const std::uint64_t extra = decoded / 100 + 601;
    return decoded > UINT64_MAX - extra ? UINT64_MAX : decoded + extra;
  }

  result<std::size_t> encode(bytes_view from, mutable_bytes to, codec_workspace& scratch) const {
    detail::bz2_stream held(scratch.resource());
    if (!held.begin_encoder(level)) return held.no_memory("a compressor");
    bz_stream& stream = held.get();
    detail::stream_cursor<bz_stream> cursor(from, to);
    int status = BZ_RUN_OK;
    while (status == BZ_RUN_OK || status == BZ_FINISH_OK) {
      cursor.refill(stream);
      if (cursor.output_left(stream) == 0) break;
      const bool last = cursor.input_left(stream) == stream.avail_in;
      status = BZ2_bzCompress(&stream, last ? BZ_FINISH : BZ_RUN);
    }
    if (status == BZ_STREAM_END) return to.size() - cursor.output_left(stream);
    return error{errc::out_of_range, "the output does not fit"};
  }

  result<std::size_t> decode(bytes_view from, mutable_bytes to, codec_workspace& scratch) const {
    std::size_t done = 0;
    do {
      ZARRPOINT_TRY(written, detail::bz2_decode(from, to.subspan(done), scratch.resource()));
      done += written;
    } while (!from.empty());
    return done;
  }
};

}}  // namespace zarrpoint::v0
