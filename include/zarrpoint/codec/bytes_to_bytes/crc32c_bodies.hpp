// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/bytes_to_bytes/crc32c_codec.hpp>
#include <zarrpoint/core/config.hpp>

#include <array>

namespace zarrpoint { inline namespace v0 {

// -------------------------------------------------------------------------------- crc32c_codec.hpp

ZARRPOINT_INLINE std::uint64_t crc32c_codec::encoded_bound(std::uint64_t decoded) const {
  return decoded > UINT64_MAX - trailer ? UINT64_MAX : decoded + trailer;
}

ZARRPOINT_INLINE result<std::size_t> crc32c_codec::encode_in_place(mutable_bytes buffer,
                                                                   std::size_t used) const {
  if (buffer.size() - used < trailer) return error{errc::out_of_range, "no room for the checksum"};
  store_le<std::uint32_t>(buffer.data() + used, crc32c(buffer.first(used)));
  return used + trailer;
}

ZARRPOINT_INLINE result<bytes_view> crc32c_codec::decode_in_place(bytes_view stored) const {
  if (stored.size() < trailer)
    return error{errc::corrupt,
                 std::to_string(stored.size()) + " bytes are too few for a checksum"};
  const bytes_view body = stored.first(stored.size() - trailer);
  const auto expected = load_le<std::uint32_t>(stored.data() + body.size());
  const std::uint32_t actual = crc32c(body);
  if (actual != expected)
    return error{errc::corrupt, "checksum mismatch: stored " + hex(expected) + ", computed " +
                                    hex(actual) + " over " + std::to_string(body.size()) +
                                    " bytes"};
  return body;
}

ZARRPOINT_INLINE std::string crc32c_codec::hex(std::uint32_t value) {
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[value >> shift & 15];
  return text;
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/base/bodies.hpp>
#include <zarrpoint/core/checksum/bodies.hpp>
#endif
