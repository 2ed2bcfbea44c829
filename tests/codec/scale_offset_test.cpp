// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/array_to_array/elements.hpp>

#include "support/filter_golden.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace scale_offset_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

/// What becomes of the elements; empty when the codec refuses to.
template <class T>
std::vector<T> run(std::string_view configuration, std::vector<T> values, bool forward = true) {
  const zp::tensor_spec spec{zp::dtype_of<T>, {static_cast<zp::index_t>(values.size())}};
  const auto codec =
      zp::make_codec<zp::scale_offset_codec>(parsed(configuration)).value().resolve(spec).value();
  std::vector<T> out(values.size());
  zp::codec_workspace scratch;
  const auto from = zp::dense_view(reinterpret_cast<const std::byte*>(values.data()), spec);
  const auto to = zp::dense_view(reinterpret_cast<std::byte*>(out.data()), spec);
  const auto status = forward ? codec.encode(from, to, scratch) : codec.decode(from, to, scratch);
  if (status) return out;
  CHECK(status.failure().code == (forward ? zp::errc::invalid_argument : zp::errc::corrupt));
  return {};
}

}  // namespace

TEST_CASE("scale_offset: the examples of the registry") {
  CHECK(run<float>(R"({"offset": 5, "scale": 0.1})", {5, 15, 105}) ==
        std::vector<float>{0, 10 * 0.1F, 100 * 0.1F});
  CHECK(run<std::uint16_t>(R"({"offset": 1000})", {1000, 1255}) ==
        std::vector<std::uint16_t>{0, 255});
  CHECK(run<double>(R"({"offset": -10, "scale": 0.1})", {0, 2540}) ==
        std::vector<double>{1, 2550 * 0.1});
  CHECK(run<double>("{}", {-0.0, 0.1}) == std::vector<double>{-0.0, 0.1});
}

TEST_CASE("scale_offset: integers stay exact or are refused") {
  const std::string_view twice = R"({"offset": 10, "scale": 2})";
  CHECK(run<std::int8_t>(twice, {10, 73, -54}) == std::vector<std::int8_t>{0, 126, -128});
  CHECK(run<std::int8_t>(twice, {74}).empty());
  CHECK(run<std::int8_t>(twice, {-55}).empty());
  // Too small after the first step already.
  CHECK(run<std::uint8_t>(twice, {9}).empty());
  CHECK(run<std::int8_t>(R"({"offset": -100, "scale": -1})", {100}).empty());
  CHECK(run<std::int8_t>(twice, {0, 126, -128}, false) == std::vector<std::int8_t>{10, 73, -54});
  CHECK(run<std::int8_t>(twice, {1}, false).empty());
  CHECK(run<std::int8_t>(R"({"scale": -1})", {-128}, false).empty());
  CHECK(run<std::uint64_t>(R"({"scale": 18446744073709551615})", {2}).empty());
  CHECK(run<std::uint64_t>(R"({"scale": 18446744073709551615})", {UINT64_MAX}).empty());
  CHECK(run<std::uint64_t>(R"({"scale": 18446744073709551615})", {1}) ==
        std::vector<std::uint64_t>{UINT64_MAX});
  CHECK(run<std::int64_t>(R"({"offset": 1})", {INT64_MIN}).empty());
  CHECK(run<zp::int4>(R"({"offset": 1})", {zp::int4(-7)}) == std::vector<zp::int4>{zp::int4(-8)});
  CHECK(run<zp::int4>(R"({"offset": 1})", {zp::int4(-8)}).empty());
}

TEST_CASE("scale_offset: floats are rounded in each step and refused when too large") {
  const float big = std::numeric_limits<float>::max();
  CHECK(run<float>(R"({"offset": 0.1, "scale": 3})", {0.3F}) ==
        std::vector<float>{(0.3F - 0.1F) * 3.0F});
  CHECK(run<float>(R"({"offset": 0.1, "scale": 3})", {0.7F}, false) ==
        std::vector<float>{0.7F / 3.0F + 0.1F});
  CHECK(run<float>(R"({"scale": 2})", {big}).empty());
  CHECK(run<float>(R"({"scale": 0.5})", {big}, false).empty());
  const auto infinite = run<float>(R"({"scale": 2})", {INFINITY});
  REQUIRE(infinite.size() == 1);
  CHECK(std::isinf(infinite[0]));
  const auto none = run<float>(R"({"offset": 1})", {NAN});
  REQUIRE(none.size() == 1);
  CHECK(std::isnan(none[0]));
  CHECK(run<zp::float16>(R"({"offset": -1})", {zp::float16(2048)}) ==
        std::vector<zp::float16>{zp::float16(2048)});
  CHECK(run<zp::float4_e2m1fn>(R"({"scale": 2})", {zp::float4_e2m1fn(3)}) ==
        std::vector<zp::float4_e2m1fn>{zp::float4_e2m1fn(6)});
  CHECK(run<zp::float4_e2m1fn>(R"({"scale": 2})", {zp::float4_e2m1fn(4)}).empty());
  CHECK(run<zp::float8_e8m0fnu>(R"({"scale": 2})", {zp::float8_e8m0fnu(4)}) ==
        std::vector<zp::float8_e8m0fnu>{zp::float8_e8m0fnu(8)});
  CHECK(run<zp::float8_e8m0fnu>(R"({"offset": 4})", {zp::float8_e8m0fnu(4)}).empty());
}

TEST_CASE("scale_offset: nothing to do is lossless, and the fill value goes the same way") {
  std::vector<zp::tensor_spec> specs;
  for (const zp::tensor_spec& one : conformance_specs()) {
    if (zp::detail::is_real(one.type)) specs.push_back(one);
  }
  codec_conformance(zp::scale_offset_codec{}, specs);
  const zp::tensor_spec spec{zp::dtype_kind::int16, {3}};
  const auto codec = zp::make_codec<zp::scale_offset_codec>(parsed(R"({"offset": 1, "scale": 2})"))
                         .value()
                         .resolve(spec)
                         .value();
  const byte_string fill = to_native(from_hex("0500"), spec.type);
  CHECK(codec.encode_fill(fill, spec).value() == to_native(from_hex("0800"), spec.type));
  CHECK_FALSE(codec.encode_fill(to_native(from_hex("ff7f"), spec.type), spec));
}

TEST_CASE("scale_offset: configurations that make no sense") {
  using enum zp::errc;
  const zp::tensor_spec bytes{zp::dtype_kind::uint8, {3}};
  const zp::tensor_spec floats{zp::dtype_kind::float32, {3}};
  CHECK(refuses<zp::scale_offset_codec>(R"({"scale": 0})", bytes, invalid_argument));
  CHECK(refuses<zp::scale_offset_codec>(R"({"scale": 0.0})", floats, invalid_argument));
  CHECK(refuses<zp::scale_offset_codec>(R"({"scale": -0.0})", floats, invalid_argument));
  CHECK(refuses<zp::scale_offset_codec>(R"({"offset": 0.5})", bytes, invalid_argument));
  CHECK(refuses<zp::scale_offset_codec>(R"({"offset": "x"})", floats, invalid_argument));
  CHECK(refuses<zp::scale_offset_codec>("{}", {zp::dtype_kind::bool_, {1}}, unsupported));
  CHECK(refuses<zp::scale_offset_codec>("{}", {zp::dtype_kind::complex64, {1}}, unsupported));
  CHECK(refuses<zp::scale_offset_codec>("{}", {zp::dtype_kind::string, {1}}, unsupported));
}

}  // namespace scale_offset_test
