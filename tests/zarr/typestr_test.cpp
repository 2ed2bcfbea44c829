// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/typestr.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>

using namespace zarrpoint;

TEST_CASE("typestrs both ways") {
  using enum dtype_kind;
  const std::pair<const char*, v2_dtype> table[] = {
      {"|b1", {bool_}},
      {"|i1", {int8}},
      {"|u1", {uint8}},
      {"<i2", {int16}},
      {">i2", {int16, endian::big}},
      {"<i4", {int32}},
      {"<i8", {int64}},
      {"<u2", {uint16}},
      {"<u4", {uint32}},
      {">u8", {uint64, endian::big}},
      {"<f2", {float16}},
      {"<f4", {float32}},
      {">f8", {float64, endian::big}},
      {"<c8", {complex64}},
      {">c16", {complex128, endian::big}},
      {"|O", {string}},
      {"bfloat16", {bfloat16}},
      {"float8_e4m3fn", {float8_e4m3fn}},
      {"float8_e5m2", {float8_e5m2}},
  };
  for (const auto& [text, type] : table) {
    CAPTURE(text);
    CHECK(parse_v2_dtype(node(text)).value() == type);
    CHECK(to_v2_dtype(type).value() == text);
  }
}

TEST_CASE("the order of single bytes is of no consequence") {
  CHECK(parse_v2_dtype(node("<b1")).value().type == dtype_kind::bool_);
  CHECK(parse_v2_dtype(node(">i1")).value().type == dtype_kind::int8);
  CHECK(to_v2_dtype({dtype_kind::uint8, endian::big}).value() == "|u1");
  CHECK_FALSE(to_v2_dtype({dtype_kind::bfloat16, endian::big}));
}

TEST_CASE("other types are named in the error") {
  for (const std::string text :
       {"|S7",         "<U7",         ">U13",  "|V2",     "<V2",  "<M8[s]", "<m8", "int4",
        "float8_e3m4", "float8_e4m3", "int32", "float32", "=i4",  "i4",     "|f4", "<f16",
        "<i3",         "<f",          "<",     "",        "<f4 ", "string"}) {
    CAPTURE(text);
    const auto type = parse_v2_dtype(node(text));
    REQUIRE_FALSE(type);
    CHECK(type.failure().code == errc::unsupported);
    CHECK(type.failure().message.find('"' + text + '"') != std::string::npos);
  }
  CHECK(parse_v2_dtype(node::array{}).failure().code == errc::unsupported);
  CHECK(parse_v2_dtype(node(4)).failure().code == errc::corrupt);
}
