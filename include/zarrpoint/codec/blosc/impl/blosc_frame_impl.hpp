// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/blosc/blosc_frame.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

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

}}}  // namespace zarrpoint::v0::detail
