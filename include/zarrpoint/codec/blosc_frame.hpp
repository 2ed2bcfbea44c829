// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace zarrpoint::inline v0::detail {

/// What the streams of a Blosc frame are compressed with; the numbers stand in its flags.
enum class blosc_format : std::uint8_t { blosclz, lz4, snappy, zlib, zstd };

/// The frame of c-blosc 1 (c-blosc, README_CHUNK_FORMAT): a header of 16 bytes; the beginning of
/// each block as a uint32, counted from the start of the frame; the blocks. A block is one stream,
/// or one for each byte of an element; a stream is its int32 length and its bytes, and is raw when
/// that length is what it decodes to. A stored frame is the header and the bytes as they are.
struct blosc_header {
  static constexpr std::size_t size = 16;
  static constexpr std::size_t length_size = 4;  ///< of a block's beginning, and of a stream
  static constexpr std::size_t max_split = 16;   ///< elements of more bytes are not split
  static constexpr std::size_t min_split = 128;  ///< nor are blocks of fewer elements
  static constexpr std::size_t max_bytes = 0x7fffffff - size;
  static constexpr std::size_t max_block = (0x7fffffff - 255 * length_size) / 3;

  enum flag : unsigned {
    byte_shuffle = 1,
    stored = 2,
    bit_shuffle = 4,
    reserved = 8,
    not_split = 16,
  };

  unsigned flags = 0;         ///< without the format
  blosc_format format{};      ///< of the streams
  std::size_t type_size = 1;  ///< 1 to 255
  std::size_t bytes = 0;      ///< decoded
  std::size_t block_size = 1;
  std::size_t frame_size = size;  ///< with the header

  bool has(flag one) const noexcept { return (flags & one) != 0; }
  std::size_t block_count() const noexcept { return (bytes + block_size - 1) / block_size; }
  /// The decoded bytes of a block: the last one may be short.
  std::size_t block_bytes(std::size_t i) const noexcept {
    return std::min(block_size, bytes - i * block_size);
  }
  /// How many streams a block of that many bytes has.
  std::size_t streams(std::size_t block) const noexcept {
    const bool split = !has(not_split) && type_size <= max_split &&
                       block_size / type_size >= min_split && block == block_size;
    return split ? type_size : 1;
  }
  /// Where the first block may begin.
  std::size_t body() const noexcept { return size + length_size * block_count(); }

  void write(std::byte* to) const {
    to[0] = std::byte{2};  // the format of frames
    to[1] = std::byte{1};  // that of streams: the only one of each
    to[2] = static_cast<std::byte>(flags | static_cast<unsigned>(format) << 5);
    to[3] = static_cast<std::byte>(type_size);
    store_le<std::uint32_t>(to + 4, static_cast<std::uint32_t>(bytes));
    store_le<std::uint32_t>(to + 8, static_cast<std::uint32_t>(block_size));
    store_le<std::uint32_t>(to + 12, static_cast<std::uint32_t>(frame_size));
  }

  /// The header of a frame that is all of `frame`. Errors: `corrupt`; `unsupported` for Blosc2.
  static result<blosc_header> parse(bytes_view frame);
};

inline result<blosc_header> blosc_header::parse(bytes_view frame) {
  const auto corrupt = [](std::string what) { return error{errc::corrupt, std::move(what)}; };
  if (frame.size() < size) return corrupt("header truncated");
  const auto byte_at = [&](std::size_t i) { return std::to_integer<unsigned>(frame[i]); };
  const auto number_at = [&](std::size_t i) { return load_le<std::uint32_t>(frame.data() + i); };
  if (byte_at(0) > 2 && byte_at(0) <= 5)
    return error{errc::unsupported, "a frame of Blosc2, which Zarr's codec \"blosc\" is not"};
  if (byte_at(0) != 2)
    return corrupt("frame format " + std::to_string(byte_at(0)) + ", which is not 2");
  blosc_header out;
  const unsigned format = byte_at(2) >> 5;
  out.flags = byte_at(2) & 31;
  out.format = static_cast<blosc_format>(format);
  out.type_size = byte_at(3);
  out.bytes = number_at(4);
  out.block_size = number_at(8);
  out.frame_size = number_at(12);
  if (out.frame_size != frame.size())
    return corrupt("a frame of " + std::to_string(out.frame_size) + " bytes in " +
                   std::to_string(frame.size()) +
                   (out.frame_size > frame.size() ? ": truncated" : ""));
  if (out.bytes > max_bytes) return corrupt("more bytes than a frame may hold");
  if (out.type_size == 0) return corrupt("elements of no bytes");
  if (out.has(reserved) || (out.has(byte_shuffle) && out.has(bit_shuffle)))
    return corrupt("flags that no frame has");
  if (out.has(stored) || out.bytes == 0) {
    if (out.frame_size != size + out.bytes)
      return corrupt(std::to_string(out.bytes) + " bytes stored in a frame of " +
                     std::to_string(out.frame_size));
    out.flags |= stored;
    return out;
  }
  if (byte_at(1) != 1 || format > static_cast<unsigned>(blosc_format::zstd))
    return corrupt("streams of format " + std::to_string(format) + ", version " +
                   std::to_string(byte_at(1)));
  if (out.block_size == 0 || out.block_size > out.bytes || out.block_size > max_block)
    return corrupt("blocks of " + std::to_string(out.block_size) + " bytes in a frame of " +
                   std::to_string(out.bytes));
  if (out.body() > out.frame_size) return corrupt("the list of blocks is truncated");
  return out;
}

/// Memory that a worker keeps from block to block.
class blosc_memory {
 public:
  explicit blosc_memory(memory_resource& from) : resource_(&from) {}

  /// Uninitialised; ends the life of what it gave before. Errors: `resource_limit`.
  result<mutable_bytes> get(std::size_t bytes) {
    if (held_.size() < bytes) {
      held_ = {};  // first, so that a budget need not hold both
      ZARRPOINT_TRY(grown, buffer::allocate(bytes, *resource_));
      held_ = std::move(grown);
    }
    return held_.bytes().first(bytes);
  }
  /// Gives back what is more than the blocks of most frames need.
  void trim() {
    constexpr std::size_t kept = std::size_t{4} << 20;
    if (held_.size() > kept) held_ = {};
  }

 private:
  memory_resource* resource_;
  buffer held_;
};

}  // namespace zarrpoint::inline v0::detail
