// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/array_to_array/transpose.hpp>
#include <zarrpoint/codec/array_to_bytes/bytes.hpp>
#include <zarrpoint/codec/array_to_bytes/vlen_utf8.hpp>
#include <zarrpoint/codec/base/registry.hpp>
#include <zarrpoint/codec/blosc/blosc.hpp>
#include <zarrpoint/codec/bytes_to_bytes/crc32c_codec.hpp>
#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>
#include <zarrpoint/core/config.hpp>

namespace zarrpoint { inline namespace v0 {

/// The codecs that need nothing but zstd. Add your own with `default_codecs::with<my_codec>`.
using default_codecs = codec_registry<bytes_codec, transpose_codec, vlen_utf8_codec,
                                      vlen_bytes_codec, crc32c_codec, zstd_codec, blosc_codec>;

#if ZARRPOINT_COMPILED_ONCE
namespace detail {
extern template struct codec_maker<bytes_codec>;
extern template struct codec_maker<transpose_codec>;
extern template struct codec_maker<vlen_utf8_codec>;
extern template struct codec_maker<vlen_bytes_codec>;
extern template struct codec_maker<crc32c_codec>;
extern template struct codec_maker<zstd_codec>;
extern template struct codec_maker<blosc_codec>;
}  // namespace detail
#endif

}}  // namespace zarrpoint::v0
