// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A skeleton to copy: a codec of your own, from bytes to bytes. Add it to a table by
// `zarrpoint::default_codecs::with<example::xor_codec>::table()`.

#include <zarrpoint/codecs.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace example {

/// Every byte xor a key. A codec is a plain value: its options and nothing else.
struct xor_codec {
  // The name in metadata, and whether the encoded size follows from the decoded one alone.
  static constexpr std::string_view name = "example.xor";
  static constexpr bool fixed_size = true;

  std::byte key{0xff};

  // Each member of the configuration, once: it is read and written by these lines.
  void fields(zarrpoint::configuration_fields& all) { all.integer("key", key, 0, 255); }

  // The most bytes that it makes of so many.
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
