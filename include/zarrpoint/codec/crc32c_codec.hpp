// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/concepts.hpp>
#include <zarrpoint/codec/configuration.hpp>
#include <zarrpoint/codec/crc32c.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace zarrpoint::inline v0 {

/// The codec `crc32c`: the bytes, then their CRC-32C as a little-endian uint32 (Zarr v3 codecs,
/// "crc32c"). It has no configuration.
struct crc32c_codec {
  static constexpr std::string_view name = "crc32c";
  static constexpr bool fixed_size = true;
  static constexpr std::size_t trailer = sizeof(std::uint32_t);

  static result<crc32c_codec> from_configuration(const node& configuration) {
    ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {}));
    static_cast<void>(reader);
    return crc32c_codec{};
  }
  node configuration() const { return {}; }

  std::uint64_t encoded_bound(std::uint64_t decoded) const {
    return decoded > UINT64_MAX - trailer ? UINT64_MAX : decoded + trailer;
  }
  result<std::size_t> encode_in_place(mutable_bytes buffer, std::size_t used) const {
    if (buffer.size() - used < trailer)
      return error{errc::out_of_range, "no room for the checksum"};
    store_le<std::uint32_t>(buffer.data() + used, crc32c(buffer.first(used)));
    return used + trailer;
  }
  result<bytes_view> decode_in_place(bytes_view stored) const {
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

 private:
  static std::string hex(std::uint32_t value) {
    std::string text = "0x";
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[value >> shift & 15];
    return text;
  }
};

}  // namespace zarrpoint::inline v0
