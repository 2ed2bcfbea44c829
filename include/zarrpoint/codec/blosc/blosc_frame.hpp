// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/buffer.hpp>

#include <cstddef>
#include <cstdint>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What the streams of a Blosc frame are compressed with; the numbers stand in its flags.
enum class blosc_format : std::uint8_t { blosclz, lz4, snappy, zlib, zstd };

/// The frame of c-blosc 1 (c-blosc, README_CHUNK_FORMAT): a header of 16 bytes; the beginning of
/// each block as a uint32, counted from the start of the frame; the blocks. A block is one stream,
/// or one for each byte of an element. A stream is its int32 length and its bytes, and is raw when
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
  std::size_t block_bytes(std::size_t i) const noexcept;
  /// How many streams a block of that many bytes has.
  std::size_t streams(std::size_t block) const noexcept;
  /// Where the first block may begin.
  std::size_t body() const noexcept { return size + length_size * block_count(); }

  void write(std::byte* to) const;

  /// The header of a frame that is all of `frame`. Errors: `corrupt`; `unsupported` for Blosc2.
  static result<blosc_header> parse(bytes_view frame);
};

/// Memory that a worker keeps from block to block.
class blosc_memory {
 public:
  explicit blosc_memory(memory_resource& from) : resource_(&from) {}

  /// Uninitialised; ends the life of what it gave before. Errors: `resource_limit`.
  result<mutable_bytes> get(std::size_t bytes);
  /// Gives back what is more than the blocks of most frames need.
  void trim();

 private:
  memory_resource* resource_;
  buffer held_;
};

}}}  // namespace zarrpoint::v0::detail
