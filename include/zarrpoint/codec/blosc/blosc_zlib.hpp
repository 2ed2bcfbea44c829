// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Opt in: include this header, link zlib, and use `default_codecs::with<blosc_zlib_codec>`.

#include <zarrpoint/codec/blosc/blosc.hpp>
#include <zarrpoint/codec/bytes_to_bytes/gzip.hpp>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// The streams of frames, those of zlib too.
struct blosc_zlib_streams : blosc_streams {
  static result<std::size_t> decode(blosc_format format, bytes_view from, mutable_bytes to,
                                    codec_workspace& scratch) {
    if (format == blosc_format::zlib) return zlib_codec{}.decode(from, to, scratch);
    return blosc_streams::decode(format, from, to, scratch);
  }
  static result<std::size_t> encode(const blosc_options& how, bytes_view from, mutable_bytes to,
                                    codec_workspace& scratch) {
    if (how.format != blosc_format::zlib) return blosc_streams::encode(how, from, to, scratch);
    zlib_codec zlib;
    zlib.level = how.level;
    return zlib.encode(from, to, scratch);
  }
};

}  // namespace detail

/// `blosc_codec` that reads and writes frames with zlib inside, too; takes its place in a registry.
struct blosc_zlib_codec : detail::blosc_base<blosc_zlib_codec, detail::blosc_zlib_streams> {};

}}  // namespace zarrpoint::v0
