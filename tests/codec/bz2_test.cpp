// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/bytes_to_bytes/bz2.hpp>

#include "support/codec_bytes.hpp"
#include "support/refused_memory.hpp"

#include <doctest/doctest.h>

#include <string>

namespace bz2_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

const byte_string sample = text_bytes("one two one two one two one two one two");
// As Python's bz2 writes it, levels 1 and 5.
const std::string sample_hex =
    "425a6831314159265359d59231f700000b9180400002018480200030c002a4d269a58d8b1c678b91d1f177245385"
    "090d59231f70";
const std::string empty_hex = "425a683517724538509000000000";

}  // namespace

TEST_CASE("bz2: conformance") {
  const std::vector<zp::tensor_spec> few{{zp::dtype_kind::bfloat16, {40, 30}},
                                         {zp::dtype_kind::string, {9}}};
  codec_conformance(zp::bz2_codec{}, few);
  codec_conformance(codec_of<zp::bz2_codec>(zp::json::object{{"level", 9}}), few);
}

TEST_CASE("bz2: bytes") {
  CHECK(to_hex(encoded_by(zp::bz2_codec{}, sample)) == sample_hex);
  CHECK(to_hex(encoded_by(codec_of<zp::bz2_codec>(zp::json::object{{"level", 5}}), {})) ==
        empty_hex);
  CHECK(decoded_by(zp::bz2_codec{}, from_hex(sample_hex), sample.size()).value() == sample);
  CHECK(decoded_by(zp::bz2_codec{}, from_hex(empty_hex), 0).value().empty());
}

TEST_CASE("bz2: streams one after another, and nothing else") {
  byte_string twice = sample;
  twice.insert(twice.end(), sample.begin(), sample.end());
  CHECK(decoded_by(zp::bz2_codec{}, from_hex(sample_hex + empty_hex + sample_hex), 78).value() ==
        twice);
  for (const char* tail : {"00", "425a", "ff00112233445566778899aabbccddeeff"})
    CHECK(decoded_by(zp::bz2_codec{}, from_hex(sample_hex + tail), 78).failure().code ==
          zp::errc::corrupt);
  CHECK(decoded_by(zp::bz2_codec{}, {}, 0).failure().code == zp::errc::corrupt);
}

TEST_CASE("bz2: the checksum is checked") {
  for (const std::size_t at : {10u, 13u, 30u, 45u}) {
    byte_string stored = from_hex(sample_hex);
    stored[at] ^= std::byte{0x10};
    CHECK(decoded_by(zp::bz2_codec{}, stored, sample.size()).failure().code == zp::errc::corrupt);
  }
}

TEST_CASE("bz2: a bomb writes no more than there is room for") {
  const byte_string bomb = encoded_by(zp::bz2_codec{}, byte_string(10'000'000));
  CHECK(bomb.size() < 1000);
  CHECK(decoded_by(zp::bz2_codec{}, bomb, 1000).failure().code == zp::errc::out_of_range);
  CHECK(decoded_by(zp::bz2_codec{}, bomb, 9'999'999).failure().code == zp::errc::out_of_range);
}

TEST_CASE("bz2: options") {
  CHECK_FALSE(zp::make_codec<zp::bz2_codec>(zp::json::object{{"level", 0}}));
  CHECK_FALSE(zp::make_codec<zp::bz2_codec>(zp::json::object{{"level", 10}}));
  CHECK(zp::bz2_codec{}.encoded_bound(UINT64_MAX) == UINT64_MAX);
}

TEST_CASE("bz2: memory that the budget refuses is told in bytes") {
  check_refusals(zp::bz2_codec{});
}

}  // namespace bz2_test
