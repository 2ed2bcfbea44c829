// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/numcodecs/object_codecs.hpp>

#include "support/strings.hpp"

#include <doctest/doctest.h>

#include <string>

namespace msgpack2_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::json;

namespace {

const zp::msgpack2_codec codec;

zp::tensor_spec of(zp::dims shape) { return {zp::dtype_kind::string, std::move(shape)}; }

zp::error refusal(const char* hex, zp::dims shape = {1}) {
  const auto decoded = decoded_strings(codec, from_hex(hex), of(std::move(shape)));
  REQUIRE_FALSE(decoded);
  return decoded.failure();
}

}  // namespace

TEST_CASE("msgpack2: conformance") { codec_conformance(codec); }

// numcodecs 0.16.6 with msgpack 1.1, [["foo", "é"], [None, 0]] and others.
TEST_CASE("msgpack2: bytes of numcodecs") {
  CHECK(decoded_strings(codec, from_hex("9492a3666f6fa2c3a992c000a27c4f920202"), of({2, 2}))
            .value() == strings{"foo", "\xc3\xa9", "", ""});
  CHECK(to_hex(encoded_strings(codec, {"foo", "\xc3\xa9", "", ""}, of({2, 2})).value()) ==
        "9492a3666f6fa2c3a992a0a0a27c4f920202");
  CHECK(to_hex(encoded_strings(codec, {}, of({2, 0})).value()) == "949090a27c4f920200");
  CHECK(decoded_strings(codec, from_hex("949090a27c4f920200"), of({2, 0})));
}

TEST_CASE("msgpack2: every size of string and list") {
  const strings sizes{std::string(40, 'x'), std::string(300, 'y'), std::string(70'000, 'z')};
  const byte_string stored = encoded_strings(codec, sizes, of({3})).value();
  CHECK(to_hex(zp::bytes_view(stored).first(4)) == "95d92878");
  CHECK(to_hex(zp::bytes_view(stored).subspan(43, 4)) == "da012c79");
  CHECK(to_hex(zp::bytes_view(stored).subspan(346, 6)) == "db000111707a");
  CHECK(to_hex(zp::bytes_view(stored).last(5)) == "a27c4f9103");
  CHECK(decoded_strings(codec, stored, of({3})).value() == sizes);
  const byte_string many = encoded_strings(codec, strings(70'000), of({70'000})).value();
  CHECK(to_hex(zp::bytes_view(many).first(6)) == "dd00011172a0");
  CHECK(to_hex(zp::bytes_view(many).last(9)) == "a27c4f91ce00011170");
  CHECK(decoded_strings(codec, many, of({70'000})).value() == strings(70'000));
}

TEST_CASE("msgpack2: strings as they were before there was a type for bytes") {
  const auto old = codec_of<zp::msgpack2_codec>(json::object{{"use_bin_type", false}});
  const strings one{std::string(40, 'a')};
  const byte_string stored = encoded_strings(old, one, of({1})).value();
  CHECK(to_hex(zp::bytes_view(stored).first(4)) == "93da0028");
  CHECK(decoded_strings(codec, stored, of({1})).value() == one);
}

TEST_CASE("msgpack2: objects that are not strings are refused, and their kind is named") {
  const std::pair<const char*, const char*> table[] = {
      {"9305a27c4f9101", "a number"},        {"93cb4000000000000000a27c4f9101", "a number"},
      {"93c3a27c4f9101", "a bool"},          {"9381a161c0a27c4f9101", "a map"},
      {"9391c0a27c4f9101", "a list"},        {"93c40161a27c4f9101", "bytes"},
      {"93d40001a27c4f9101", "an extension"}};
  for (const auto& [hex, name] : table) {
    CAPTURE(hex);
    const zp::error failure = refusal(hex);
    CHECK(failure.code == zp::errc::unsupported);
    CHECK(failure.message == std::string(name) + " where a string is expected");
  }
  CHECK(refusal("93a161a33c66349101").message ==
        "the stored elements must be of type \"|O\", not \"<f4\"");
}

TEST_CASE("msgpack2: what is damaged is corrupt") {
  for (const char* hex :
       {"", "93", "92a27c4f9101", "94a161a161a27c4f9102", "93a161a27c4f9102", "93a161a27c4f920101",
        "93a161a27c4f910100", "93dbffffffff61a27c4f9101", "93c1a27c4f9101", "a161", "ddffffffff",
        "93a1ffa27c4f9101", "93a161a27c4f91a101"}) {
    CAPTURE(hex);
    CHECK(refusal(hex).code == zp::errc::corrupt);
  }
}

TEST_CASE("msgpack2: options") {
  conformance::check_configuration(codec);
  CHECK_FALSE(zp::make_codec<zp::msgpack2_codec>(json::object{{"raw", 1}}));
  CHECK_FALSE(codec.resolve({zp::dtype_kind::bytes, {1}}));
}

}  // namespace msgpack2_test
