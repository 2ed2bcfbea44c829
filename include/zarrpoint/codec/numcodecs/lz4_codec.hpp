// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/kit/lz_blocks.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The codec `numcodecs.lz4`: the number of decoded bytes as a little-endian int32, then one LZ4
/// block. N5 has another format of that name.
struct lz4_codec {
  static constexpr std::string_view name = "numcodecs.lz4";
  static constexpr bool fixed_size = false;
  static constexpr std::size_t header = sizeof(std::uint32_t);

  int acceleration = 1;  ///< of the encoder of numcodecs; changes nothing here

  static result<lz4_codec> from_configuration(const node& configuration);
  node configuration() const { return node::object{{"acceleration", node(acceleration)}}; }

  std::uint64_t encoded_bound(std::uint64_t decoded) const;
  result<std::size_t> encode(bytes_view from, mutable_bytes to, codec_workspace& scratch) const;
  result<std::size_t> decode(bytes_view from, mutable_bytes to, codec_workspace&) const;
  std::optional<std::uint64_t> decoded_size(bytes_view stored) const;
};

}}  // namespace zarrpoint::v0
