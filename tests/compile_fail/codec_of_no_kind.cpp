// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: this codec lacks encode_in_place() or decode_in_place() as
#include <zarrpoint/codec/base/registry.hpp>

struct half_codec {
  static constexpr std::string_view name = "half";
  static constexpr bool fixed_size = true;
  void fields(zarrpoint::configuration_fields&) {}
  std::uint64_t encoded_bound(std::uint64_t decoded) const { return decoded; }
  zarrpoint::result<std::size_t> encode_in_place(zarrpoint::mutable_bytes, std::size_t used) const {
    return used;
  }
#if defined(ZP_OK)
  zarrpoint::result<zarrpoint::bytes_view> decode_in_place(zarrpoint::bytes_view stored) const {
    return stored;
  }
#endif
};

zarrpoint::codec_table test() { return zarrpoint::codec_registry<half_codec>::table(); }
