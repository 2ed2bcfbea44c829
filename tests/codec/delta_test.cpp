// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/numcodecs/number_filters.hpp>

#include "support/filter_golden.hpp"

#include <doctest/doctest.h>

namespace delta_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("delta: what numcodecs 0.16.5 with NumPy 2.4 makes of it, in both directions") {
  const filter_case cases[] = {
      {"int32", R"({"dtype": "<i4", "astype": "<i4"})",
       "050000000700000000000080ffffff7f0000000003000000",
       "0500000002000000f9ffff7fffffffff0100008003000000",
       "050000000700000000000080ffffff7f0000000003000000"},
      {"uint8", R"({"dtype": "|u1", "astype": "|u1"})", "c803ff0001", "c83bfc0101", "c803ff0001"},
      {"uint16", R"({"dtype": "<u2", "astype": "<i2"})", "64005a00ffff0000", "6400f6ffa5ff0100",
       "64005a00ffff0000"},
      {"int64", R"({"dtype": "<i8", "astype": "<i2"})",
       "64000000000000006600000000000000630000000000000090010000000000009101000000000000",
       "64000200fdff2d010100",
       "64000000000000006600000000000000630000000000000090010000000000009101000000000000"},
      {"uint64", R"({"dtype": "<u8", "astype": "|i1"})",
       "6400000000000000660000000000000063000000000000005a00000000000000c800000000000000",
       "6402fdf76e",
       "6400000000000000660000000000000063000000000000005a00000000000000c800000000000000"},
      {"int64", R"({"dtype": "<i8", "astype": "<u8"})",
       "fbffffffffffffff00000000000000400300000000000000",
       "fbffffffffffffff050000000000004003000000000000c0",
       "000000000000008000000000000000800000000000000080"},
      {"float32", R"({"dtype": "<f4", "astype": "<f4"})",
       "00000080cdcccc3dcaf249719a99993e0000c07f0000803f",
       "00000080cdcccc3dcaf24971caf249f10000c07f0000c07f",
       "00000080cdcccc3dcaf24971000000000000c07f0000c07f"},
      {"float64", R"({"dtype": "<f8", "astype": "<f4"})",
       "9a9999999999b93f9a9999999999c93f666666666666e63fa55cc3f129633d48000000000000f03f",
       "cdcccc3dcdcccc3d0000003f0000807f000080ff",
       "000000a09999b93f000000a09999c93f000000686666e63f000000000000f07f000000000000f8ff"},
      {"float16", R"({"dtype": "<f2", "astype": "<f2"})", "662e6632d063cd34ff7bfffb",
       "662e662ed063cfe3ff7b00fc", "662e6632d0630038ff7b00fc"},
      {"float64", R"({"dtype": "<f8", "astype": "<i4"})",
       "000000000000f83f9a999999999905403333333333c372400000000000001cc0",
       "010000000100000029010000cdfeffff",
       "000000000000f03f00000000000000400000000000b0724000000000000020c0"},
      {"uint32", R"({"dtype": "<u4", "astype": "<f4"})", "050000000300000000286bee01000000",
       "0000a0400000804f286b6e4fc0a68c4d", "05000000000000000000000000000000"},
      {"complex64", R"({"dtype": "<c8", "astype": "<c8"})",
       "0000803f0000004000004040000080bf00000000cdcccc3d0000a04000000000",
       "0000803f0000004000000040000040c0000040c0cdcc8c3f0000a040cdccccbd",
       "0000803f0000004000004040000080bf00000000d0cccc3d0000a0400000c032"},
      {"bool", R"({"dtype": "|b1", "astype": "|b1"})", "010000010100", "010100010001",
       "010101010101"},
      {"int64", R"({"dtype": "<i8", "astype": "<i8"})",
       "0a000000000000000b000000000000000c000000000000000d000000000000000e000000000000000f000000000"
       "000001000000000000000110000000000000012000000000000001300000000000000",
       "0a00000000000000010000000000000001000000000000000100000000000000010000000000000001000000000"
       "000000100000000000000010000000000000001000000000000000100000000000000",
       "0a000000000000000b000000000000000c000000000000000d000000000000000e000000000000000f000000000"
       "000001000000000000000110000000000000012000000000000001300000000000000"},
      {"int32", R"({"dtype": ">i4", "astype": ">i4"})", "0500000007000000feffffff09000000",
       "0000000500000002fffffff70100000a", "0500000007000000feffffff09000000"},
      {"float32", R"({"dtype": "<i4", "astype": "<i4"})", "0000c03f00002040000040c0",
       "0000c03f0000600000002080", "0000c03f00002040000040c0"},
      {"int32", R"({"dtype": "<i2", "astype": "<i2"})", "701101000300000005000000ffffffff",
       "701191ee0200fdff0500fbffffff0000", "701101000300000005000000ffffffff"},
      {"float64", R"({"dtype": "<f8", "astype": "<f4"})",
       "9a9999999999b93f9a9999999999c93f666666666666e63f", "cdcccc3dcdcccc3d0000003f",
       "000000a09999b93f000000a09999c93f000000686666e63f"},
  };
  for (const filter_case& one : cases) check_filter<zp::delta_codec>(one);
}

TEST_CASE("delta: exact for integers of every type, shape and layout") {
  std::vector<zp::tensor_spec> specs;
  for (const zp::tensor_spec& one : conformance_specs()) {
    if (one.type.is_integer() || one.type == zp::dtype_kind::datetime64) specs.push_back(one);
  }
  codec_conformance(zp::delta_codec{}, specs);
  codec_conformance(zp::make_codec<zp::delta_codec>(parsed(R"({"dtype": "<i8"})")).value(),
                    {{zp::dtype_kind::datetime64, {3, 5}}, {zp::dtype_kind::float64, {7}}});
  codec_conformance(zp::make_codec<zp::delta_codec>(parsed(R"({"dtype": "<i2"})")).value(),
                    {{zp::dtype_kind::int32, {3, 5}}, {zp::dtype_kind::uint8, {6}}});
}

TEST_CASE("delta: long runs are those of one loop") {
  random_source random(8);
  const zp::tensor_spec spec{zp::dtype_kind::float32, {5000}};
  std::vector<float> values(5000);
  for (float& one : values) one = static_cast<float>(pick(random, 1000)) / 7;
  const zp::delta_codec codec = zp::delta_codec{}.resolve(spec).value();
  zp::codec_workspace scratch;
  std::vector<float> encoded(values.size());
  std::vector<float> decoded(values.size());
  const auto bytes = [](std::vector<float>& of) { return reinterpret_cast<std::byte*>(of.data()); };
  REQUIRE(codec.encode(
      zp::dense_view(std::as_const(values).data() == nullptr ? nullptr : bytes(values), spec),
      zp::dense_view(bytes(encoded), spec), scratch));
  REQUIRE(codec.decode(zp::dense_view(bytes(encoded), spec), zp::dense_view(bytes(decoded), spec),
                       scratch));
  float sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    REQUIRE(encoded[i] == (i == 0 ? values[0] : values[i] - values[i - 1]));
    sum = i == 0 ? encoded[0] : sum + encoded[i];
    REQUIRE(decoded[i] == sum);
  }
}

TEST_CASE("delta: configurations that make no sense") {
  const zp::tensor_spec floats{zp::dtype_kind::float32, {3}};
  using enum zp::errc;
  CHECK(refuses<zp::delta_codec>(R"({"dtype": "<f8"})", floats, invalid_argument));
  CHECK(refuses<zp::delta_codec>(R"({"dtype": "O"})", floats, unsupported));
  CHECK(refuses<zp::delta_codec>(R"({"dtype": "<i3"})", floats, unsupported));
  CHECK(refuses<zp::delta_codec>(R"({"dtype": ""})", floats, unsupported));
  CHECK(refuses<zp::delta_codec>(R"({"dtype": "<f99999999999999999999"})", floats, unsupported));
  CHECK(refuses<zp::delta_codec>(R"({"dtype": 4})", floats, invalid_argument));
  CHECK(refuses<zp::delta_codec>(R"({"dtype": "<i4", "astype": "<M8[s]"})", floats, unsupported));
  CHECK(refuses<zp::delta_codec>("{}", {zp::dtype_kind::string, {3}}, unsupported));
  CHECK(refuses<zp::delta_codec>("{}", {zp::dtype_kind::bfloat16, {3}}, unsupported));
  CHECK(
      refuses<zp::delta_codec>(R"({"dtype": "<i4"})", {zp::dtype_kind::string, {3}}, unsupported));
}

}  // namespace delta_test
