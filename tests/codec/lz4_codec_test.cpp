// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/numcodecs/byte_codecs.hpp>

#include "support/codec_bytes.hpp"

#include <doctest/doctest.h>

#include <string>

namespace lz4_codec_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::json;

TEST_CASE("lz4 codec: conformance") { codec_conformance(zp::lz4_codec{}); }

// As numcodecs 0.16.6 writes them.
TEST_CASE("lz4 codec: bytes of numcodecs") {
  const byte_string text = text_bytes("one two one two one two one two one two");
  const std::string hex = "270000008f6f6e652074776f2008000750652074776f";
  CHECK(decoded_by(zp::lz4_codec{}, from_hex(hex), text.size()).value() == text);
  CHECK(decoded_by(zp::lz4_codec{}, from_hex(hex), text.size() - 1).failure().code ==
        zp::errc::out_of_range);
  const byte_string abc = text_bytes("abc");
  CHECK(decoded_by(zp::lz4_codec{}, from_hex("0300000030616263"), 3).value() == abc);
  CHECK(to_hex(encoded_by(zp::lz4_codec{}, abc)) == "0300000030616263");
  CHECK(to_hex(encoded_by(zp::lz4_codec{}, {})) == "0000000000");
  CHECK(decoded_by(zp::lz4_codec{}, from_hex("0000000000"), 0).value().empty());
}

TEST_CASE("lz4 codec: a head that lies") {
  const zp::lz4_codec codec;
  for (const char* hex : {"", "030000", "03000000", "0200000030616263", "0400000030616263",
                          "ffffffff30616263", "0000008030616263", "0300000030616263ff"}) {
    CAPTURE(hex);
    CHECK(decoded_by(codec, from_hex(hex), 10).failure().code == zp::errc::corrupt);
  }
  CHECK(decoded_by(codec, from_hex("ffffff7f30616263"), 10).failure().code ==
        zp::errc::out_of_range);
}

TEST_CASE("lz4 codec: options") {
  CHECK(zp::make_codec<zp::lz4_codec>(json::object{{"acceleration", 12}}).value().acceleration ==
        12);
  CHECK_FALSE(zp::make_codec<zp::lz4_codec>(json::object{{"acceleration", 1.5}}));
  CHECK(zp::lz4_codec{}.encoded_bound(UINT64_MAX) == UINT64_MAX);
}

}  // namespace lz4_codec_test
