// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/blosc/blosc.hpp>
#include <zarrpoint/codec/blosc/blosc_encode.hpp>
#include <zarrpoint/codec/blosc/blosc_frame.hpp>
#include <zarrpoint/codec/blosc/blosc_plane.hpp>
#include <zarrpoint/codec/kit/lz_blocks.hpp>
#include <zarrpoint/core/config.hpp>

#include <cmath>

namespace zarrpoint { inline namespace v0 { namespace detail {

// --------------------------------------------------------------------------------- blosc_frame.hpp

ZARRPOINT_INLINE std::size_t blosc_header::block_bytes(std::size_t i) const noexcept {
  return std::min(block_size, bytes - i * block_size);
}

ZARRPOINT_INLINE std::size_t blosc_header::streams(std::size_t block) const noexcept {
  const bool split = !has(not_split) && type_size <= max_split &&
                     block_size / type_size >= min_split && block == block_size;
  return split ? type_size : 1;
}

ZARRPOINT_INLINE void blosc_header::write(std::byte* to) const {
  to[0] = std::byte{2};  // the format of frames
  to[1] = std::byte{1};  // that of streams: the only one of each
  to[2] = static_cast<std::byte>(flags | static_cast<unsigned>(format) << 5);
  to[3] = static_cast<std::byte>(type_size);
  store_le<std::uint32_t>(to + 4, static_cast<std::uint32_t>(bytes));
  store_le<std::uint32_t>(to + 8, static_cast<std::uint32_t>(block_size));
  store_le<std::uint32_t>(to + 12, static_cast<std::uint32_t>(frame_size));
}

ZARRPOINT_INLINE result<blosc_header> blosc_header::parse(bytes_view frame) {
  const auto corrupt = [](std::string what) { return error{errc::corrupt, std::move(what)}; };
  if (frame.size() < size) return corrupt("header truncated");
  const auto byte_at = [&](std::size_t i) { return std::to_integer<unsigned>(frame[i]); };
  const auto number_at = [&](std::size_t i) { return load_le<std::uint32_t>(frame.data() + i); };
  if (byte_at(0) > 2 && byte_at(0) <= 5)
    return error{errc::unsupported, "the frame is of Blosc2; Zarr's codec \"blosc\" is Blosc 1"};
  if (byte_at(0) != 2)
    return corrupt("frame format " + std::to_string(byte_at(0)) + "; expected 2");
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
  if (out.type_size == 0) return corrupt("the element size is 0");
  if (out.has(reserved) || (out.has(byte_shuffle) && out.has(bit_shuffle)))
    return corrupt("its flags are not valid");
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

ZARRPOINT_INLINE result<mutable_bytes> blosc_memory::get(std::size_t bytes) {
  if (held_.size() < bytes) {
    held_ = {};  // first, so that a budget need not hold both
    ZARRPOINT_TRY(grown, buffer::allocate(bytes, *resource_));
    held_ = std::move(grown);
  }
  return held_.bytes().first(bytes);
}

ZARRPOINT_INLINE void blosc_memory::trim() {
  constexpr std::size_t kept = std::size_t{4} << 20;
  if (held_.size() > kept) held_ = {};
}

// -------------------------------------------------------------------------------- blosc_encode.hpp

ZARRPOINT_INLINE std::size_t blosc_block_size(const blosc_options& how, std::size_t bytes) {
  constexpr std::size_t largest = std::size_t{2} << 20;  // a block and its planes: the second cache
  constexpr std::size_t good = std::size_t{1} << 20;
  const auto whole = [&](std::size_t block) {
    return block > how.type_size ? block / how.type_size * how.type_size : block;
  };
  if (how.block_size != 0) {
    constexpr std::size_t least = 128;
    const std::size_t most = std::min(bytes, blosc_header::max_block);
    return whole(std::clamp(how.block_size, std::min(least, most), most));
  }
  // Entropy coders like long blocks: a chunk of the usual 1 MiB stays in one piece.
  if (bytes <= largest) return whole(bytes);
  const std::size_t count = (bytes + good - 1) / good;
  return whole(bytes / count);
}

// --------------------------------------------------------------------------------- blosc_plane.hpp

ZARRPOINT_INLINE double entropy_of(const byte_counts& counts) {
  double total = 0;
  for (const auto count : counts) total += static_cast<double>(count);
  double bits = 0;
  for (const std::uint32_t count : counts) {
    if (count > 0) bits -= count * std::log2(count / total);
  }
  return total == 0 ? 8 : bits / total;
}

ZARRPOINT_INLINE double sampled_entropy(bytes_view from) {
  return entropy_of(sample_of(from, std::clamp(from.size() / 8, good_sample / 2, good_sample)));
}

ZARRPOINT_INLINE bool has_repeats(bytes_view from) {
  constexpr std::size_t window = 64 << 10;
  constexpr std::size_t length = 16;  // shorter ones are chance where few values are frequent
  constexpr unsigned bits = 12;
  // Every eighth place; eight places in turn meet one, if it repeats.
  constexpr std::size_t noted = 8;
  constexpr std::size_t asked = 128;
  from = from.first(std::min(from.size(), window));
  if (from.size() < length + asked) return false;
  const auto entry_of = [&](std::size_t i) {
    constexpr std::uint64_t prime = 0x9e3779b97f4a7c15;
    return load_le<std::uint64_t>(from.data() + i) * prime >> (64 - bits);
  };
  std::array<std::uint16_t, 1 << bits> last{};
  std::size_t tried = 0;
  std::size_t found = 0;
  for (std::size_t at = 0; at + asked + length <= from.size(); at += asked) {
    for (std::size_t i = at; i < at + noted && at != 0; ++i) {
      const std::size_t before = last[entry_of(i)];
      if (std::memcmp(from.data() + before, from.data() + i, length) == 0) ++found;
    }
    for (std::size_t i = at; i < at + asked; i += noted)
      last[entry_of(i)] = static_cast<std::uint16_t>(i);
    ++tried;
  }
  return found * 16 > tried;
}

ZARRPOINT_INLINE bool is_noise_plane(bytes_view from) {
  return sampled_entropy(from) > noise_bits && !has_repeats(from);
}

ZARRPOINT_INLINE result<std::size_t> encode_plane(bytes_view from, mutable_bytes to, int level,
                                                  codec_workspace& scratch) {
  if (is_noise_plane(from)) return error{errc::out_of_range, "not worth coding"};
  result<std::size_t> coded = encode_zstd_literals(from, to, scratch);
  if (level <= 1 && !has_repeats(from)) return coded;
  if (!coded && coded.failure().code != errc::out_of_range) return coded;
  // The second try goes to memory of its own, and only if it can be better.
  const std::size_t room = (coded ? *coded : to.size()) / 50 * 49;
  ZARRPOINT_TRY(memory, scratch.state<plane_memory>().get(room));
  result<std::size_t> matched = zstd_codec{.level = level}.encode(from, memory, scratch);
  if (!matched) return matched.failure().code == errc::out_of_range ? coded : matched;
  std::memcpy(to.data(), memory.data(), *matched);
  return matched;
}

// --------------------------------------------------------------------------------------- blosc.hpp

ZARRPOINT_INLINE result<std::size_t> blosc_streams::decode(blosc_format format, bytes_view from,
                                                           mutable_bytes to,
                                                           codec_workspace& scratch) {
  switch (format) {
    case blosc_format::blosclz: return blosclz_decode(from, to);
    case blosc_format::lz4: return lz4_decode(from, to);
    case blosc_format::snappy: return snappy_decode(from, to);
    case blosc_format::zstd:
      if (decode_zstd_literals(from, to, scratch)) return to.size();
      return zstd_codec{}.decode(from, to, scratch);
    case blosc_format::zlib: break;
  }
  return no_zlib();
}

ZARRPOINT_INLINE result<std::size_t> blosc_streams::encode(const blosc_options& how,
                                                           bytes_view from, mutable_bytes to,
                                                           codec_workspace& scratch) {
  if (how.format == blosc_format::lz4) return lz4_encode(from, to, scratch);
  if (how.format == blosc_format::zlib) return no_zlib();
  if (how.shuffle != 0) return encode_plane(from, to, how.level, scratch);
  return zstd_codec{.level = how.level}.encode(from, to, scratch);
}

ZARRPOINT_INLINE error blosc_streams::no_zlib() {
  return {errc::unsupported,
          "the frame is compressed by zlib (include <zarrpoint/blosc_zlib.hpp> and use "
          "default_codecs::with<blosc_zlib_codec>)"};
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/blosc/huffman_bodies.hpp>
#include <zarrpoint/codec/bytes_to_bytes/zstd_bodies.hpp>
#endif
