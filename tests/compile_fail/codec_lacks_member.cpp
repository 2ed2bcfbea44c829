// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT(1): zarrpoint: this codec lacks `name` as examples/codecs/my_codec.hpp
// EXPECT(2): zarrpoint: this codec lacks fields() as examples/codecs/my_codec.hpp
// EXPECT(3): zarrpoint: this codec lacks `fixed_size` as examples/codecs/my_codec.hpp
// EXPECT(4): zarrpoint: this codec lacks encoded_bound() as examples/codecs/my_codec.hpp
// EXPECT(5): zarrpoint: this codec lacks encode() or decode(): see examples/codecs/my_codec.hpp
// EXPECT(6): zarrpoint: this codec lacks encode() or decode(): see examples/codecs/my_codec.hpp
#include <zarrpoint/codec/base/registry.hpp>

namespace zp = zarrpoint;

struct my_codec {
#if ZP_CASE != 1
  static constexpr std::string_view name = "mine";
#endif
#if ZP_CASE != 2
  void fields(zp::configuration_fields&) {}
#endif
#if ZP_CASE != 3
  static constexpr bool fixed_size = true;
#endif
#if ZP_CASE != 4
  std::uint64_t encoded_bound(std::uint64_t decoded) const { return decoded; }
#endif
#if ZP_CASE != 5
  zp::result<std::size_t> encode(zp::bytes_view from, zp::mutable_bytes,
                                 zp::codec_workspace&) const {
    return from.size();
  }
#endif
#if ZP_CASE != 6
  zp::result<std::size_t> decode(zp::bytes_view from, zp::mutable_bytes,
                                 zp::codec_workspace&) const {
    return from.size();
  }
#endif
};

zp::codec_table test() { return zp::codec_registry<my_codec>::table(); }
