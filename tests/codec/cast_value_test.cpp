// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/array_to_array/elements.hpp>

#include "support/filter_golden.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace cast_value_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

/// What becomes of the elements; empty when the codec refuses to.
template <class To, class From>
std::vector<To> run(std::string_view configuration, std::vector<From> values, bool forward = true) {
  const zp::dtype outer = forward ? zp::dtype_of<From> : zp::dtype_of<To>;
  const zp::dims shape{static_cast<zp::index_t>(values.size())};
  const auto codec = zp::make_codec<zp::cast_value_codec>(parsed(configuration))
                         .value()
                         .resolve({outer, shape})
                         .value();
  std::vector<To> out(values.size());
  zp::codec_workspace scratch;
  const auto from = zp::dense_view(reinterpret_cast<const std::byte*>(values.data()),
                                   {zp::dtype_of<From>, shape});
  const auto to =
      zp::dense_view(reinterpret_cast<std::byte*>(out.data()), {zp::dtype_of<To>, shape});
  const auto status = forward ? codec.encode(from, to, scratch) : codec.decode(from, to, scratch);
  if (status) return out;
  CHECK(status.failure().code == (forward ? zp::errc::invalid_argument : zp::errc::corrupt));
  return {};
}

}  // namespace

TEST_CASE("cast_value: the examples of the registry") {
  using bytes = std::vector<std::uint8_t>;
  const std::string_view numpy = R"({"data_type": "uint8", "rounding": "towards-zero",
      "out_of_range": "wrap",
      "scalar_map": {"encode": [["NaN", 0], ["+Infinity", 0], ["-Infinity", 0]]}})";
  CHECK(run<std::uint8_t, double>(numpy, {1.9, -1.9, 300, NAN, INFINITY, -INFINITY}) ==
        bytes{1, 255, 44, 0, 0, 0});
  const auto narrow = [](std::string_view rest, double value) {
    return run<std::int8_t, double>("{\"data_type\": \"int8\"" + std::string(rest) + "}", {value});
  };
  CHECK(narrow("", 128.0).empty());
  CHECK(narrow(R"(, "out_of_range": "clamp")", 128.0) == std::vector<std::int8_t>{127});
  CHECK(narrow(R"(, "out_of_range": "wrap")", 128.0) == std::vector<std::int8_t>{-128});
  CHECK(run<std::int16_t, double>(R"({"data_type": "int16", "out_of_range": "wrap"})",
                                  {32768, 32769, -32769}) ==
        std::vector<std::int16_t>{-32768, -32767, 32767});
  const std::string_view with_nan = R"({"data_type": "uint8",
      "scalar_map": {"encode": [["NaN", 0]], "decode": [[0, "NaN"]]}})";
  CHECK(run<std::uint8_t, double>(with_nan, {NAN, 1.0, 254.5}) == bytes{0, 1, 254});
  const auto back = run<double, std::uint8_t>(with_nan, {0, 1}, false);
  REQUIRE(back.size() == 2);
  CHECK(std::isnan(back[0]));
  CHECK(back[1] == 1);
}

TEST_CASE("cast_value: the first of equal keys counts, before all other rules, zeros alike") {
  const std::string_view map = R"({"data_type": "int8",
      "scalar_map": {"encode": [[0.0, 7], [0, 8], [1e30, 9], [5, 1], [5, 2]]}})";
  CHECK(run<std::int8_t, float>(map, {-0.0F, 0.0F, 1e30F, 5, 6}) ==
        std::vector<std::int8_t>{7, 7, 9, 1, 6});
}

TEST_CASE("cast_value: decoding is held to the same rules") {
  const std::string_view plain = R"({"data_type": "int32"})";
  CHECK(run<std::int8_t, std::int32_t>(plain, {127, -128}, false) ==
        std::vector<std::int8_t>{127, -128});
  CHECK(run<std::int8_t, std::int32_t>(plain, {128}, false).empty());
  CHECK(run<float, std::int32_t>(R"({"data_type": "int32", "rounding": "towards-zero"})",
                                 {0x1ffffff}, false) == std::vector<float>{0x1fffffe});
  CHECK(run<zp::float4_e2m1fn, float>(R"({"data_type": "float32"})", {7}, false).empty());
  CHECK(run<zp::float8_e5m2, float>(R"({"data_type": "float32", "out_of_range": "clamp"})", {1e9F},
                                    false)[0] == static_cast<float>(INFINITY));
}

TEST_CASE("cast_value: numbers of the same kind come back; configurations keep their meaning") {
  const auto wide = zp::make_codec<zp::cast_value_codec>(parsed(R"({"data_type": "int64"})"));
  codec_conformance(wide.value(), {{zp::dtype_kind::int8, {3, 5}},
                                   {zp::dtype_kind::uint32, {7}},
                                   {zp::dtype_kind::int4, {4, 1, 6}},
                                   {zp::dtype_kind::uint2, {0}}});
  const auto full = zp::make_codec<zp::cast_value_codec>(
      parsed(R"({"data_type": {"name": "uint8"}, "rounding": "nearest-away", "out_of_range": "wrap",
               "scalar_map": {}})"));
  CHECK(zp::configuration_of(full.value()) ==
        parsed(R"({"data_type": "uint8", "rounding": "nearest-away", "out_of_range": "wrap",
                 "scalar_map": {}})"));
}

TEST_CASE("cast_value: the fill value") {
  const zp::tensor_spec spec{zp::dtype_kind::float64, {3}};
  const auto codec =
      zp::make_codec<zp::cast_value_codec>(
          parsed(R"({"data_type": "uint8", "scalar_map": {"encode": [["NaN", 255]]}})"))
          .value()
          .resolve(spec)
          .value();
  const double values[] = {NAN, 1e9};
  const auto fill = zp::bytes_view(reinterpret_cast<const std::byte*>(values), sizeof(double) * 2);
  CHECK(codec.encode_fill(fill.first(8), spec).value() == from_hex("ff"));
  CHECK_FALSE(codec.encode_fill(fill.subspan(8), spec));
}

TEST_CASE("cast_value: configurations that make no sense") {
  using enum zp::errc;
  using codec = zp::cast_value_codec;
  const zp::tensor_spec floats{zp::dtype_kind::float32, {3}};
  CHECK(refuses<codec>("{}", floats, invalid_argument));
  CHECK(refuses<codec>(R"({"data_type": 3})", floats, invalid_argument));
  CHECK(refuses<codec>(R"({"data_type": "complex64"})", floats, unsupported));
  CHECK(refuses<codec>(R"({"data_type": "nonsense"})", floats, unsupported));
  CHECK(refuses<codec>(R"({"data_type": "uint8"})", {zp::dtype_kind::bool_, {1}}, unsupported));
  CHECK(refuses<codec>(R"({"data_type": "uint8"})", {zp::dtype_kind::string, {1}}, unsupported));
  CHECK(refuses<codec>(R"({"data_type": "float16", "out_of_range": "wrap"})", floats,
                       invalid_argument));
  CHECK(refuses<codec>(R"({"data_type": "uint8", "rounding": "up"})", floats, invalid_argument));
  CHECK(refuses<codec>(R"({"data_type": "uint8", "out_of_range": "x"})", floats, invalid_argument));
  for (const char* const map :
       {"3", R"({"both": []})", R"({"encode": 3})", R"({"encode": [3]})", R"({"encode": [[1]]})",
        R"({"encode": [[1, 2, 3]]})", R"({"encode": [[1, 256]]})", R"({"encode": [["x", 1]]})",
        R"({"decode": [["NaN", 1]]})", R"({"decode": [[1, "0x1"]]})"}) {
    CAPTURE(map);
    CHECK(refuses<codec>(R"({"data_type": "uint8", "scalar_map": )" + std::string(map) + "}",
                         floats, invalid_argument));
  }
}

}  // namespace cast_value_test
