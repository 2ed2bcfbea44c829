// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/numcodecs/byte_codecs.hpp>

#include "support/codec_bytes.hpp"

#include <doctest/doctest.h>

#include <string>

namespace checksum_codecs_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

const byte_string digits = text_bytes("123456789");

template <class C>
C at(const char* location) {
  return codec_of<C>(zp::json::object{{"location", location}});
}

}  // namespace

TEST_CASE("checksum codecs: conformance") {
  codec_conformance(zp::crc32_codec{});
  const std::vector<zp::tensor_spec> few{{zp::dtype_kind::bfloat16, {40, 30}},
                                         {zp::dtype_kind::string, {9}}};
  codec_conformance(at<zp::crc32_codec>("end"), few);
  codec_conformance(zp::adler32_codec{}, few);
  codec_conformance(zp::located_crc32c_codec{}, few);
  codec_conformance(at<zp::located_crc32c_codec>("start"), few);
  codec_conformance(zp::fletcher32_codec{}, few);
  codec_conformance(zp::jenkins_lookup3_codec{}, few);
  zp::jenkins_lookup3_codec seeded;
  seeded.initial = 0xffffffff;
  codec_conformance(seeded, few);
}

// As numcodecs 0.16.6 writes them.
TEST_CASE("checksum codecs: bytes") {
  const std::string text = "313233343536373839";
  const auto is = [&](const auto& codec, const std::string& hex) {
    const byte_string stored = encoded_by(codec, digits);
    CHECK(to_hex(stored) == hex);
    CHECK(decoded_by(codec, from_hex(hex), 9).value() == digits);
  };
  is(zp::crc32_codec{}, "2639f4cb" + text);
  is(at<zp::crc32_codec>("start"), "2639f4cb" + text);
  is(at<zp::crc32_codec>("end"), text + "2639f4cb");
  is(zp::adler32_codec{}, "de011e09" + text);
  is(at<zp::adler32_codec>("end"), text + "de011e09");
  is(zp::located_crc32c_codec{}, text + "839206e3");
  is(at<zp::located_crc32c_codec>("start"), "839206e3" + text);
  is(zp::fletcher32_codec{}, text + "d509df09");
  is(zp::jenkins_lookup3_codec{}, text + "969a5d84");
  is(codec_of<zp::jenkins_lookup3_codec>(zp::json::object{{"initval", 17}, {"prefix", nullptr}}),
     text + "e7da40eb");
}

TEST_CASE("checksum codecs: every single bit matters") {
  const auto all = [](const auto& codec) {
    byte_string stored = encoded_by(codec, digits);
    for (std::size_t bit = 0; bit < 8 * stored.size(); ++bit) {
      stored[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      CHECK(decoded_by(codec, stored, 9).failure().code == zp::errc::corrupt);
      stored[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    }
    for (std::size_t size = 0; size < 4; ++size)
      CHECK(decoded_by(codec, zp::bytes_view(stored).first(size), 9).failure().code ==
            zp::errc::corrupt);
  };
  all(zp::crc32_codec{});
  all(zp::adler32_codec{});
  all(zp::located_crc32c_codec{});
  all(zp::fletcher32_codec{});
  all(zp::jenkins_lookup3_codec{});
}

TEST_CASE("checksum codecs: options") {
  using zp::json;
  CHECK(zp::configuration_of(at<zp::crc32_codec>("start")) == json(json::object{}));
  CHECK(zp::configuration_of(at<zp::located_crc32c_codec>("end")) == json(json::object{}));
  CHECK(*zp::configuration_of(at<zp::crc32_codec>("end")).find("location") == json("end"));
  CHECK_FALSE(zp::make_codec<zp::crc32_codec>(json::object{{"location", "middle"}}));
  CHECK_FALSE(zp::make_codec<zp::crc32_codec>(json::object{{"location", 1}}));
  CHECK_FALSE(zp::make_codec<zp::jenkins_lookup3_codec>(json::object{{"initval", -1}}));
  CHECK(zp::make_codec<zp::jenkins_lookup3_codec>(json::object{{"prefix", "ab"}}).failure().code ==
        zp::errc::unsupported);
  CHECK(zp::crc32_codec{}.encoded_bound(UINT64_MAX - 3) == UINT64_MAX);
}

}  // namespace checksum_codecs_test
