// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/numcodecs/object_codecs.hpp>

#include "support/strings.hpp"

#include <doctest/doctest.h>

#include <string>

namespace vlen_array_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::json;

namespace {

zp::vlen_array_codec of(const char* type) {
  return codec_of<zp::vlen_array_codec>(json::object{{"dtype", type}});
}

}  // namespace

TEST_CASE("vlen-array: conformance") { codec_conformance(of("|u1")); }

// numcodecs 0.16.6, VLenArray('>i2') of [1, -2], [] and [3].
TEST_CASE("vlen-array: vectors as they are stored, in their byte order") {
  const zp::tensor_spec spec{zp::dtype_kind::bytes, {3}};
  const strings elements{std::string("\0\x01\xff\xfe", 4), "", std::string("\0\x03", 2)};
  const std::string hex = "03000000 04000000 0001fffe 00000000 02000000 0003";
  CHECK(encoded_strings(of(">i2"), elements, spec).value() == from_hex(hex));
  CHECK(decoded_strings(of(">i2"), from_hex(hex), spec).value() == elements);
}

TEST_CASE("vlen-array: only whole numbers of items") {
  const zp::tensor_spec spec{zp::dtype_kind::bytes, {1}};
  CHECK(decoded_strings(of("<i4"), from_hex("01000000 03000000 000000"), spec).failure().code ==
        zp::errc::corrupt);
  CHECK(encoded_strings(of("<i4"), {"abc"}, spec).failure().code == zp::errc::invalid_argument);
  CHECK(encoded_strings(of("<i4"), {"abcd"}, spec));
}

TEST_CASE("vlen-array: dtypes") {
  const std::pair<const char*, std::size_t> table[] = {
      {"|b1", 1},   {"|i1", 1}, {"<u2", 2}, {">f4", 4},     {"<f8", 8},   {"<c8", 8},
      {"<c16", 16}, {"u1", 1},  {"i8", 8},  {"float64", 8}, {"uint16", 2}};
  for (const auto& [text, size] : table) {
    CHECK(of(text).item_size == size);
    CHECK(*zp::configuration_of(of(text)).find("dtype") == json(text));
  }
  for (const char* text :
       {"", "<", "f", "<f3", "|O", "<U3", "|S4", "<c4", "<i16", "string", "<f44"})
    CHECK(zp::make_codec<zp::vlen_array_codec>(json::object{{"dtype", text}}).failure().code ==
          zp::errc::unsupported);
  CHECK_FALSE(zp::make_codec<zp::vlen_array_codec>(json()));
}

}  // namespace vlen_array_test
