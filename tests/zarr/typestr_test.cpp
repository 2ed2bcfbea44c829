// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/v2/typestr.hpp>

#include "json_input.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace typestr_test {

using namespace zarrpoint;

TEST_CASE("typestrs both ways") {
  using enum dtype_kind;
  const std::pair<const char*, detail::v2_dtype> table[] = {
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
      {"float8_e4m3", {float8_e4m3}},
      {"float8_e8m0fnu", {float8_e8m0fnu}},
      {"float4_e2m1fn", {float4_e2m1fn}},
      {"int4", {int4}},
      {"uint2", {uint2}},
      {"|S7", {dtype::null_terminated(7)}},
      {"|V2", {dtype::raw_bytes(2)}},
      {"<U7", {dtype::utf32(7)}},
      {">U13", {dtype::utf32(13), endian::big}},
      {"<M8[s]", {dtype::datetime(time_unit::s)}},
      {">M8[25us]", {dtype::datetime(time_unit::us, 25), endian::big}},
      {"<m8", {dtype::timedelta(time_unit::generic)}},
      {"<m8[D]", {dtype::timedelta(time_unit::D)}},
  };
  for (const auto& [text, type] : table) {
    CAPTURE(text);
    CHECK(detail::parse_v2_dtype(json(text)).value() == type);
    CHECK(detail::to_v2_dtype(type).value() == json(text));
  }
}

TEST_CASE("the order of single bytes is of no consequence") {
  CHECK(detail::parse_v2_dtype(json("<b1")).value().type == dtype_kind::bool_);
  CHECK(detail::parse_v2_dtype(json(">i1")).value().type == dtype_kind::int8);
  CHECK(detail::to_v2_dtype({dtype_kind::uint8, endian::big}).value() == json("|u1"));
  CHECK_FALSE(detail::to_v2_dtype({dtype_kind::bfloat16, endian::big}));
}

TEST_CASE("other types are named in the error") {
  for (const std::string text : {"|S",
                                 "<U",
                                 "|U4",
                                 "|S0",
                                 "<U0",
                                 "|V",
                                 "<M4[s]",
                                 "<M8[]",
                                 "<M8[x]",
                                 "<M8[0s]",
                                 "<M8[s",
                                 "<M8s]",
                                 "<m8[-1s]",
                                 "|M8[s]",
                                 "<V2x",
                                 "S7",
                                 "int32",
                                 "float32",
                                 "=i4",
                                 "i4",
                                 "|f4",
                                 "<f16",
                                 "<i3",
                                 "<f",
                                 "<",
                                 "",
                                 "<f4 ",
                                 "string",
                                 "bool",
                                 "complex64",
                                 "float16",
                                 "<i40",
                                 "|V99999999999",
                                 "<U18446744073709551615",
                                 "|S99999999999999999999999"}) {
    CAPTURE(text);
    const auto type = detail::parse_v2_dtype(json(text));
    REQUIRE_FALSE(type);
    CHECK(type.failure().code == errc::unsupported);
    CHECK(type.failure().message.find('"' + text + '"') != std::string::npos);
  }
  CHECK(detail::parse_v2_dtype(json::array{}).failure().code == errc::corrupt);
  CHECK(detail::parse_v2_dtype(json(4)).failure().code == errc::corrupt);
}

TEST_CASE("records: nested, with arrays, of one byte order or of several") {
  const auto read = [](const char* text) {
    return detail::parse_v2_dtype(json_input::json_of(text));
  };
  const char* const plain = R"([["id","<i4"],["x","<f8"],["tag","|S3"]])";
  const detail::v2_dtype simple = read(plain).value();
  CHECK(simple.type.size() == 15);
  CHECK(simple.order == endian::little);
  CHECK(simple.field_orders.empty());
  CHECK(find_field(simple.type, "tag")->type == dtype::null_terminated(3));
  CHECK(json_input::text_of(detail::to_v2_dtype(simple)) == plain);

  const char* const big = R"([["a","|u1"],["b",[["x",">f4"],["v",">u2",[3]]]]])";
  const detail::v2_dtype swapped = read(big).value();
  CHECK(swapped.order == endian::big);
  CHECK(swapped.field_orders.empty());
  CHECK(json_input::text_of(detail::to_v2_dtype(swapped)) == big);

  const char* const several =
      R"([["a","<i2"],["b",[["x",">f4"],["v","<u2",[3]]],[2]],["c",">i8"]])";
  const detail::v2_dtype mixed = read(several).value();
  CHECK(mixed.field_orders ==
        std::vector{endian::little, endian::big, endian::little, endian::big});
  CHECK(mixed.type.size() == 2 + 2 * 10 + 8);
  CHECK(json_input::text_of(detail::to_v2_dtype(mixed)) == several);
  CHECK(read(R"([["a","<i2",4]])").value().type.size() == 8);

  for (const char* const text :
       {R"([["a"]])", R"([["a","<i2",[1],0]])", R"([[1,"<i2"]])", R"([["a","<i2",[-1]]])",
        R"([["a","<i2"],["a","<i2"]])", R"(["a","<i2"])", R"([["a","<i2",[0]]])", R"([["a","|O"]])",
        R"([["a","<i2",[9223372036854775807,9]]])"}) {
    CAPTURE(text);
    CHECK(read(text).failure().code == errc::corrupt);
  }
  CHECK(read(R"([["a","<x2"]])").failure().code == errc::unsupported);
  CHECK(read(R"([["a","|V1",[99999999]]])").failure().code == errc::unsupported);
  std::string deep = R"("|u1")";
  for (int i = 0; i < 20; ++i) deep = R"([["a",)" + deep + "]]";
  CHECK_FALSE(read(deep.c_str()));
}

TEST_CASE("a record of too many fields is refused before any is looked at") {
  const auto refusal = [](std::size_t count) {
    return detail::parse_v2_dtype(json(json::array(count, json(7)))).failure().message;
  };
  CHECK(refusal(3).find("a field must be a list") != std::string::npos);
  CHECK(refusal(65537).find("a record of 65537 fields is more than the limit of 65536") !=
        std::string::npos);
}

}  // namespace typestr_test
