// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/configuration.hpp>
#include <zarrpoint/codec/blosc/blosc.hpp>
#include <zarrpoint/codec/blosc/blosc_decode.hpp>
#include <zarrpoint/codec/blosc/blosc_encode.hpp>
#include <zarrpoint/codec/blosc/blosc_plane.hpp>
#include <zarrpoint/codec/blosc/zstd_literals.hpp>
#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>
#include <zarrpoint/codec/kit/blosclz.hpp>
#include <zarrpoint/codec/kit/lz4_block.hpp>
#include <zarrpoint/codec/kit/snappy.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<std::size_t> blosc_streams::decode(blosc_format format, bytes_view from,
                                                           mutable_bytes to,
                                                           codec_workspace& scratch) {
  switch (format) {
    case blosc_format::blosclz: return blosclz_decode(from, to);
    case blosc_format::lz4: return lz4_decode(from, to);
    case blosc_format::snappy: return snappy_decode(from, to);
    case blosc_format::zstd:
      if (decode_zstd_literals(from, to, scratch)) return to.size();
      return zstd_codec{}.decode(from, to, scratch);
    case blosc_format::zlib: break;
  }
  return no_zlib();
}

ZARRPOINT_INLINE result<std::size_t> blosc_streams::encode(const blosc_options& how,
                                                           bytes_view from, mutable_bytes to,
                                                           codec_workspace& scratch) {
  if (how.format == blosc_format::lz4) return lz4_encode(from, to, scratch);
  if (how.format == blosc_format::zlib) return no_zlib();
  if (how.shuffle != 0) return encode_plane(from, to, how.level, scratch);
  return zstd_codec{.level = how.level}.encode(from, to, scratch);
}

ZARRPOINT_INLINE error blosc_streams::no_zlib() {
  return {errc::unsupported,
          "the frame is compressed by zlib (include <zarrpoint/blosc_zlib.hpp> and use "
          "default_codecs::with<blosc_zlib_codec>)"};
}

}}}  // namespace zarrpoint::v0::detail
