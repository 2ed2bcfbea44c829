// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/numcodecs/byte_codecs.hpp>

#include "support/codec_bytes.hpp"

#include <doctest/doctest.h>

#include <string>

namespace shuffle_codec_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::json;

namespace {

zp::shuffle_codec of_size(int size) {
  return codec_of<zp::shuffle_codec>(json::object{{"elementsize", size}});
}

}  // namespace

TEST_CASE("shuffle codec: conformance") {
  codec_conformance(of_size(1));
  // Whole numbers of elements only.
  random_source random(5);
  for (const int size : {2, 3, 4, 8, 16, 20}) {
    conformance::check_configuration(of_size(size));
    for (const std::size_t count : {0u, 1u, 7u, 64u, 1000u})
      conformance::check_payload(of_size(size),
                                 random_bytes(random, count * static_cast<std::size_t>(size)));
  }
  for (const zp::tensor_spec& spec : {zp::tensor_spec{zp::dtype_kind::float32, {9, 7}},
                                      zp::tensor_spec{zp::dtype_kind::complex128, {5}}}) {
    const auto chain = conformance::chain_with(zp::shuffle_codec{}, spec);
    REQUIRE(chain);
    conformance::check_chain(*chain, random);
  }
}

// As numcodecs 0.16.6 has them.
TEST_CASE("shuffle codec: bytes") {
  const byte_string input = from_hex("0102030405060708090a0b0c");
  const std::pair<int, const char*> table[] = {{0, "0102030405060708090a0b0c"},
                                               {1, "0102030405060708090a0b0c"},
                                               {2, "01030507090b020406080a0c"},
                                               {3, "0104070a0205080b0306090c"},
                                               {4, "01050902060a03070b04080c"}};
  for (const auto& [size, hex] : table) {
    CHECK(to_hex(encoded_by(of_size(size), input)) == hex);
    CHECK(decoded_by(of_size(size), from_hex(hex), 12).value() == input);
  }
  CHECK(to_hex(encoded_by(zp::shuffle_codec{}, input)) == table[4].second);
}

TEST_CASE("shuffle codec: without a size it is that of the elements") {
  const zp::shuffle_codec any;
  CHECK(zp::configuration_of(any) == json(json::object{}));
  CHECK(zp::configuration_of(codec_of<zp::shuffle_codec>(json::object{{"elementsize", json()}})) ==
        json(json::object{}));
  CHECK(any.resolve({zp::dtype_kind::int16, {3}}).value().element_size == 2);
  CHECK(any.resolve({zp::dtype_kind::complex128, {3}}).value().element_size == 16);
  CHECK(any.resolve({zp::dtype_kind::string, {3}}).value().element_size == 0);
  CHECK(of_size(4).resolve({zp::dtype_kind::int16, {3}}).value().element_size == 4);
}

TEST_CASE("shuffle codec: what is not a whole number of elements is an error both ways") {
  zp::codec_workspace scratch;
  byte_string out(16);
  const byte_string input(7);
  CHECK(of_size(4).encode(input, out, scratch).failure().code == zp::errc::invalid_argument);
  CHECK(of_size(4).decode(input, out, scratch).failure().code == zp::errc::corrupt);
  CHECK_FALSE(zp::make_codec<zp::shuffle_codec>(json::object{{"elementsize", -1}}));
  CHECK_FALSE(zp::make_codec<zp::shuffle_codec>(json::object{{"elementsize", "4"}}));
}

}  // namespace shuffle_codec_test
