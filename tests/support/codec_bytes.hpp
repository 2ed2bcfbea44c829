// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Codecs on bytes that a test writes down.

#include "support/codec_conformance.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint_test {

using byte_string = std::vector<std::byte>;

/// The bytes that hex digits spell; spaces between them do not count.
inline byte_string from_hex(std::string_view digits) {
  byte_string out;
  int half = -1;
  for (const char c : digits) {
    if (c == ' ') continue;
    const auto at = std::string_view("0123456789abcdef").find(c);
    REQUIRE(at != std::string_view::npos);
    if (half < 0) {
      half = static_cast<int>(at);
    } else {
      out.push_back(static_cast<std::byte>(half * 16 + static_cast<int>(at)));
      half = -1;
    }
  }
  REQUIRE(half < 0);
  return out;
}

inline std::string to_hex(zp::bytes_view bytes) {
  std::string out;
  for (const std::byte b : bytes) {
    out += "0123456789abcdef"[static_cast<unsigned>(b) >> 4];
    out += "0123456789abcdef"[static_cast<unsigned>(b) & 15];
  }
  return out;
}

inline byte_string text_bytes(std::string_view text) { return copy_of(zp::as_bytes(text)); }

/// What a bytes -> bytes codec makes of `content`.
template <class C>
byte_string encoded_by(const C& codec, zp::bytes_view content) {
  byte_string out(codec.encoded_bound(content.size()));
  if constexpr (zp::detail::in_place_codec<C>) {
    std::copy(content.begin(), content.end(), out.begin());
    out.resize(codec.encode_in_place(out, content.size()).value());
  } else {
    zp::codec_workspace scratch;
    out.resize(codec.encode(content, out, scratch).value());
  }
  return out;
}

/// What it makes of `stored` where there is room for `room` bytes.
template <class C>
zp::result<byte_string> decoded_by(const C& codec, zp::bytes_view stored, std::size_t room) {
  if constexpr (zp::detail::in_place_codec<C>) {
    static_cast<void>(room);
    ZARRPOINT_TRY(body, codec.decode_in_place(stored));
    return copy_of(body);
  } else {
    zp::codec_workspace scratch;
    guarded_bytes out(room);
    zp::result<std::size_t> size = codec.decode(stored, out.bytes(), scratch);
    REQUIRE(out.intact());
    if (!size) return std::move(size).failure();
    return copy_of(out.bytes().first(*size));
  }
}

/// A codec of its configuration.
template <class C>
C codec_of(const zp::json& configuration) {
  const zp::result<C> made = zp::make_codec<C>(configuration);
  REQUIRE_MESSAGE(made, zp::to_string(made.failure()));
  return *made;
}

}  // namespace zarrpoint_test
