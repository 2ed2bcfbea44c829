// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/lists/default_codecs.hpp>
#include <zarrpoint/core/config.hpp>

// ------------------------------------------------------------------------------ default_codecs.hpp

#if ZARRPOINT_COMPILED_ONCE

namespace zarrpoint { inline namespace v0 { namespace detail {

template struct codec_maker<bytes_codec>;
template struct codec_maker<transpose_codec>;
template struct codec_maker<vlen_utf8_codec>;
template struct codec_maker<vlen_bytes_codec>;
template struct codec_maker<crc32c_codec>;
template struct codec_maker<zstd_codec>;
template struct codec_maker<blosc_codec>;

}}}  // namespace zarrpoint::v0::detail

#endif

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/array_to_array/transpose_bodies.hpp>
#include <zarrpoint/codec/array_to_bytes/bodies.hpp>
#include <zarrpoint/codec/blosc/huffman_bodies.hpp>
#include <zarrpoint/codec/bytes_to_bytes/crc32c_bodies.hpp>
#endif
