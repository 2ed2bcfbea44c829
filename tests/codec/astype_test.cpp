// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/numcodecs/number_filters.hpp>

#include "support/filter_golden.hpp"

#include <doctest/doctest.h>

namespace astype_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("astype: what numcodecs 0.16.5 with NumPy 2.4 makes of it, in both directions") {
  const filter_case cases[] = {
      {"float64", R"({"encode_dtype": "<i2", "decode_dtype": "<f8"})",
       "666666666666fe3f666666666666febf000000000088e340000000205fa00242000000000000f87f",
       "0100ffff409c00000000",
       "000000000000f03f000000000000f0bf0000000000f0d8c000000000000000000000000000000000"},
      {"float64", R"({"encode_dtype": "<f4", "decode_dtype": "<f8"})",
       "9a9999999999b93f9c7500883ce4377e0000000000000080", "cdcccc3d0000807f00000080",
       "000000a09999b93f000000000000f07f0000000000000080"},
      {"int32", R"({"encode_dtype": "|i1", "decode_dtype": "<i4"})", "010000002c0100007fffffff",
       "012c7f", "010000002c0000007f000000"},
      {"float32", R"({"encode_dtype": "<u4", "decode_dtype": "<f4"})", "000080bf5ed0324fea567a4f",
       "ffffffff005ed0b200ea56fa", "0000804f5ed0324fea567a4f"},
      {"float64", R"({"encode_dtype": "<u8", "decode_dtype": "<f8"})",
       "000000000000f0bf003d9160e458e143003d9160e458f143000000000000f87f",
       "ffffffffffffffff0000e8890423c78a00000000000000000000000000000080",
       "000000000000f043003d9160e458e1430000000000000000000000000000e043"},
      {"float32", R"({"encode_dtype": "|b1", "decode_dtype": "<f4"})",
       "00000000000000800000003f0000c07f", "00000101", "00000000000000000000803f0000803f"},
      {"int32", R"({"encode_dtype": "<c8", "decode_dtype": "<i4"})", "07000000f7ffffff",
       "0000e04000000000000010c100000000", "07000000f7ffffff"},
      {"complex128", R"({"encode_dtype": "<f4", "decode_dtype": "<c16"})",
       "000000000000f03f000000000000004000000000000000000000000000000840", "0000803f00000000",
       "000000000000f03f000000000000000000000000000000000000000000000000"},
      {"int64", R"({"encode_dtype": "<f2", "decode_dtype": "<i8"})",
       "010800000000000090eefeffffffffff0500000000000000", "006800fc0045",
       "000800000000000000000000000000800500000000000000"},
      {"int16", R"({"encode_dtype": "<f4", "decode_dtype": "<i2"})", "0108a8e40500",
       "0010004500c0dac50000a040", "0108a8e40500"},
      {"int16", R"({"encode_dtype": ">i4", "decode_dtype": ">i2"})", "01000001", "0001000001000000",
       "01000001"},
  };
  for (const filter_case& one : cases) check_filter<zp::astype_codec>(one);
}

TEST_CASE("astype: exact when the encoded type holds every value") {
  codec_conformance(zp::make_codec<zp::astype_codec>(parsed(R"({"encode_dtype": "<i8"})")).value(),
                    {{zp::dtype_kind::int32, {3, 5}},
                     {zp::dtype_kind::uint16, {7}},
                     {zp::dtype_kind::bool_, {4, 1, 6}},
                     {zp::dtype_kind::int8, {0}}});
}

TEST_CASE("astype: configurations that make no sense") {
  const zp::tensor_spec floats{zp::dtype_kind::float32, {3}};
  using enum zp::errc;
  CHECK(refuses<zp::astype_codec>("{}", floats, invalid_argument));
  CHECK(refuses<zp::astype_codec>(R"({"encode_dtype": null})", floats, invalid_argument));
  CHECK(refuses<zp::astype_codec>(R"({"encode_dtype": "<U5"})", floats, unsupported));
  CHECK(refuses<zp::astype_codec>(R"({"encode_dtype": "u1", "decode_dtype": "<f8"})", floats,
                                  invalid_argument));
}

}  // namespace astype_test
