// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Opt in: include this header and link zlib, bzip2 and liblzma (-lz -lbz2 -llzma).

#include <zarrpoint/codec/blosc/blosc_zlib.hpp>
#include <zarrpoint/codec/bytes_to_bytes/bz2.hpp>
#include <zarrpoint/codec/bytes_to_bytes/gzip.hpp>
#include <zarrpoint/codec/bytes_to_bytes/lzma.hpp>
#include <zarrpoint/codec/lists/numcodecs.hpp>

namespace zarrpoint { inline namespace v0 {

/// Every codec of the library.
using all_codecs =
    numcodecs_codecs::with<gzip_codec, zlib_codec, bz2_codec, lzma_codec, blosc_zlib_codec>;

}}  // namespace zarrpoint::v0
