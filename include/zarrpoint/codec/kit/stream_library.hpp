// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/library_memory.hpp>
#include <zarrpoint/core/bytes.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

// What the codecs of zlib, bzip2 and liblzma have in common.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// Hands buffers over piece by piece to a library that counts them in 32 bits.
template <class Stream>
class stream_cursor {
 public:
  stream_cursor(bytes_view from, mutable_bytes to) : from_(from), to_(to) {}

  void refill(Stream& stream) {
    if (stream.avail_in == 0) {
      const std::size_t piece = std::min(from_.size(), max_piece);
      // The library does not write to its input; its interface is older than const.
      stream.next_in =
          reinterpret_cast<decltype(stream.next_in)>(const_cast<std::byte*>(from_.data()));
      stream.avail_in = static_cast<count>(piece);
      from_ = from_.subspan(piece);
    }
    if (stream.avail_out == 0) {
      const std::size_t piece = std::min(to_.size(), max_piece);
      stream.next_out =
          piece == 0 ? &spare_ : reinterpret_cast<decltype(stream.next_out)>(to_.data());
      stream.avail_out = static_cast<count>(piece);
      to_ = to_.subspan(piece);
    }
  }
  /// Input that the library has not read yet.
  std::size_t input_left(const Stream& stream) const { return from_.size() + stream.avail_in; }
  std::size_t output_left(const Stream& stream) const { return to_.size() + stream.avail_out; }

 private:
  using count = decltype(Stream::avail_in);
  static constexpr std::size_t max_piece = std::numeric_limits<count>::max() / 2;

  bytes_view from_;
  mutable_bytes to_;
  // A library may refuse a null pointer even for no bytes.
  std::remove_pointer_t<decltype(Stream::next_out)> spare_{};
};

}}}  // namespace zarrpoint::v0::detail
