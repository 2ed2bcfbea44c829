// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The codec `numcodecs.base64`: RFC 4648, padded, without line breaks. It has no configuration.
struct base64_codec {
  static constexpr std::string_view name = "numcodecs.base64";
  static constexpr bool fixed_size = true;

  static result<base64_codec> from_configuration(const node& configuration);
  node configuration() const { return node::object{}; }

  std::uint64_t encoded_bound(std::uint64_t decoded) const;
  result<std::size_t> encode(bytes_view from, mutable_bytes to, codec_workspace&) const;
  result<std::size_t> decode(bytes_view from, mutable_bytes to, codec_workspace&) const;
  std::optional<std::uint64_t> decoded_size(bytes_view stored) const;
};

}}  // namespace zarrpoint::v0
