// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codecs.hpp>

#include <cstdint>
#include <string_view>

namespace example {

/// A codec of a user's own: every byte xor a key.
struct xor_codec {
  static constexpr std::string_view name = "example.xor";
  static constexpr bool fixed_size = true;

  std::byte key{0xff};

  void fields(zarrpoint::configuration_fields& all) { all.integer("key", key, 0, 255); }

  std::uint64_t encoded_bound(std::uint64_t decoded) const { return decoded; }
  zarrpoint::result<std::size_t> encode(zarrpoint::bytes_view from, zarrpoint::mutable_bytes to,
                                        zarrpoint::codec_workspace&) const {
    return apply(from, to);
  }
  zarrpoint::result<std::size_t> decode(zarrpoint::bytes_view from, zarrpoint::mutable_bytes to,
                                        zarrpoint::codec_workspace&) const {
    return apply(from, to);
  }

 private:
  zarrpoint::result<std::size_t> apply(zarrpoint::bytes_view from,
                                       zarrpoint::mutable_bytes to) const {
    if (from.size() > to.size())
      return zarrpoint::error{zarrpoint::errc::out_of_range, "the bytes do not fit"};
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] ^ key;
    return from.size();
  }
};

}  // namespace example
