// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/array_to_array/transpose.hpp>
#include <zarrpoint/codec/array_to_bytes/bytes.hpp>
#include <zarrpoint/codec/array_to_bytes/vlen_utf8.hpp>
#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/bytes_to_bytes/crc32c_codec.hpp>
#include <zarrpoint/codec/bytes_to_bytes/gzip.hpp>
#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>

#include "support/xor_codec.hpp"

#include <doctest/doctest.h>

namespace concepts_test {

namespace zp = zarrpoint;

static_assert(zp::array_to_array_codec<zp::transpose_codec>);
static_assert(zp::array_to_bytes_codec<zp::bytes_codec>);
static_assert(zp::array_to_bytes_codec<zp::vlen_utf8_codec>);
static_assert(zp::bytes_to_bytes_codec<zp::crc32c_codec>);
static_assert(zp::bytes_to_bytes_codec<zp::zstd_codec>);
static_assert(zp::bytes_to_bytes_codec<zp::gzip_codec>);
static_assert(zp::bytes_to_bytes_codec<zp::zlib_codec>);
static_assert(zp::bytes_to_bytes_codec<example::xor_codec>);

// Each is of one kind only.
static_assert(!zp::bytes_to_bytes_codec<zp::bytes_codec>);
static_assert(!zp::array_to_bytes_codec<zp::zstd_codec>);
static_assert(!zp::array_to_array_codec<zp::bytes_codec>);
static_assert(!zp::codec<int>);

TEST_CASE("kind_of: by what a codec can do") {
  CHECK(zp::kind_of<zp::transpose_codec>() == zp::codec_kind::array_to_array);
  CHECK(zp::kind_of<zp::bytes_codec>() == zp::codec_kind::array_to_bytes);
  CHECK(zp::kind_of<zp::vlen_utf8_codec>() == zp::codec_kind::array_to_bytes);
  CHECK(zp::kind_of<zp::crc32c_codec>() == zp::codec_kind::bytes_to_bytes);
  CHECK(zp::kind_of<example::xor_codec>() == zp::codec_kind::bytes_to_bytes);
}

}  // namespace concepts_test
