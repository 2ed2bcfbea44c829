// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The codec `crc32c`: the bytes, then their CRC-32C as a little-endian uint32 (Zarr v3 codecs,
/// "crc32c"). It has no configuration.
struct crc32c_codec {
  static constexpr std::string_view name = "crc32c";
  static constexpr bool fixed_size = true;
  static constexpr std::size_t trailer = sizeof(std::uint32_t);

  void fields(configuration_fields& all) { all.none(); }

  std::uint64_t encoded_bound(std::uint64_t decoded) const;
  result<std::size_t> encode_in_place(mutable_bytes buffer, std::size_t used) const;
  result<bytes_view> decode_in_place(bytes_view stored) const;

 private:
  static std::string hex(std::uint32_t value);
};

}}  // namespace zarrpoint::v0
