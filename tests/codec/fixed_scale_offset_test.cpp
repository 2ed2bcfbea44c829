// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/numcodecs/number_filters.hpp>

#include "support/filter_golden.hpp"

#include <doctest/doctest.h>

namespace fixed_scale_offset_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

TEST_CASE(
    "fixedscaleoffset: what numcodecs 0.16.5 with NumPy 2.4 makes of it, in both directions") {
  const filter_case cases[] = {
      {"float64", R"({"scale": 10, "offset": 1000, "dtype": "<f8", "astype": "|u1"})",
       "0000000000408f408ee3388ee3408f401cc7711cc7418f40abaaaaaaaa428f40398ee3388e438f40c7711cc7714"
       "48f405555555555458f40e4388ee338468f40721cc7711c478f400000000000488f40",
       "0001020304060708090a",
       "0000000000408f40cdcccccccc408f409a99999999418f406666666666428f403333333333438f40cdcccccccc4"
       "48f409a99999999458f406666666666468f403333333333478f400000000000488f40"},
      {"float64", R"({"scale": 2, "offset": 0, "dtype": "<f8", "astype": "|i1"})",
       "000000000000594000000000001050c0000000000000d03f000000000000e83f000000000000d0bf00000000000"
       "0f87fea8ca039593e2946",
       "c8800002000000",
       "0000000000003cc000000000000050c00000000000000000000000000000f03f000000000000000000000000000"
       "000000000000000000000"},
      {"float32", R"({"scale": 1.5, "offset": 0.5, "dtype": "<f4", "astype": "<i2"})",
       "0000803f0000004000004040000090c000247449", "010002000400f8ff5fe3",
       "5555953fabaaea3fabaa4a40abaa9ac000ac98c5"},
      {"float32", R"({"scale": 10, "offset": 0.1, "dtype": "<f4", "astype": "<f4"})",
       "0000803f0000104000004040000090c0caf2497133335340",
       "000010410000b0410000e841000038c27c6ffc7200000042",
       "0000803f3333134000004040000090c0caf2497133335340"},
      {"float16", R"({"scale": 100, "offset": 1, "dtype": "<f2", "astype": "<f2"})",
       "003c8040004280c4b0601914", "0000d057405a4ce0507b40d6", "003c8040004280c4b0600000"},
      {"float16", R"({"scale": 3, "offset": 1, "dtype": "<f2", "astype": "<f4"})",
       "003c8040004280c4b0601914", "00000000000080400000c040000080c100a0e044000040c0",
       "003cab40004255c4b0600000"},
      {"uint8", R"({"scale": 2, "offset": 100, "dtype": "|u1", "astype": "|u1"})", "6463ff00",
       "00fe3638", "64e37f80"},
      {"uint8", R"({"scale": 1.5, "offset": 100, "dtype": "|u1", "astype": "|u1"})", "6463ff00",
       "007ee8ea", "64b8fe00"},
      {"int32", R"({"scale": 2, "offset": 0.5, "dtype": "<i4", "astype": "<i8"})",
       "640000009dffffffffffff7f", "c70000000000000039fffffffffffffffdffffff00000000",
       "640000009dffffffffffff7f"},
      {"int64", R"({"scale": 1, "offset": 1, "dtype": "<i8", "astype": "<f4"})",
       "64000000000000009dffffffffffffff3930000000000040", "0000c6420000c8c20000805e",
       "64000000000000009dffffffffffffff0000000000000040"},
      {"uint64", R"({"scale": 7, "offset": 3, "dtype": "<u8", "astype": "<u8"})",
       "64000000000000000000000000000080ffffffffffffffff0500000000000000",
       "a702000000000000ebffffffffffff7fe4ffffffffffffff0e00000000000000",
       "6400000000000000009224499224491200244992244992240500000000000000"},
      {"bool", R"({"scale": 2, "offset": 1, "dtype": "|b1", "astype": "|u1"})", "0100", "00fe",
       "0101"},
      {"float32", R"({"scale": 0.1, "offset": 0.0, "dtype": "<f4", "astype": "|u1"})",
       "000020410000a0410000c84100501f45", "010202ff", "000020410000a0410000a04100601f45"},
      {"float32", R"({"scale": 1, "offset": 1, "dtype": ">f4", "astype": "<i2"})",
       "0000c8420000c6c20000e040", "ffffffffffff", "000000000000000000000000"},
  };
  for (const filter_case& one : cases) check_filter<zp::fixed_scale_offset_codec>(one);
}

TEST_CASE("fixedscaleoffset: configurations that make no sense") {
  using codec = zp::fixed_scale_offset_codec;
  const zp::tensor_spec bytes{zp::dtype_kind::uint8, {3}};
  using enum zp::errc;
  CHECK(refuses<codec>("{}", bytes, invalid_argument));
  CHECK(refuses<codec>(R"({"offset": 1})", bytes, invalid_argument));
  CHECK(refuses<codec>(R"({"offset": "1", "scale": 2})", bytes, invalid_argument));
  CHECK(refuses<codec>(R"({"offset": 1, "scale": 0})", bytes, invalid_argument));
  CHECK(refuses<codec>(R"({"offset": 1, "scale": -0.0})", bytes, invalid_argument));
  CHECK(refuses<codec>(R"({"offset": 256, "scale": 1})", bytes, invalid_argument));
  CHECK(refuses<codec>(R"({"offset": 1, "scale": -1})", bytes, invalid_argument));
  CHECK(refuses<codec>(R"({"offset": 128, "scale": 1})", {zp::dtype_kind::int8, {1}},
                       invalid_argument));
  CHECK(refuses<codec>(R"({"offset": 1, "scale": 1})", {zp::dtype_kind::complex64, {1}},
                       unsupported));
  CHECK(refuses<codec>(R"({"offset": 1, "scale": 1, "astype": "<c8"})", bytes, unsupported));
}

TEST_CASE("fixedscaleoffset: the fill value keeps its number") {
  const zp::tensor_spec spec{zp::dtype_kind::float32, {4}};
  const auto codec = zp::make_codec<zp::fixed_scale_offset_codec>(
                         parsed(R"({"offset": 10, "scale": 2, "astype": "u1"})"))
                         .value()
                         .resolve(spec)
                         .value();
  const float fill = 7;
  const auto bytes = zp::bytes_view(reinterpret_cast<const std::byte*>(&fill), sizeof fill);
  CHECK(codec.encode_fill(bytes, spec).value() == std::vector<std::byte>{std::byte{7}});
  CHECK_FALSE(codec.encode_fill(bytes.first(2), spec));
}

}  // namespace fixed_scale_offset_test
