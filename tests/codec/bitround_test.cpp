// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/array_to_array/elements.hpp>

#include "support/filter_golden.hpp"

#include <doctest/doctest.h>

namespace bitround_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("bitround: what numcodecs 0.16.5 with NumPy 2.4 makes of it, in both directions") {
  const filter_case cases[] = {
      {"float32", R"({"keepbits": 0})",
       "ffff7f7fffffff7fffffffffcdcc8c3fcdcc8cbf0000883f0000983f01000000000000800000807f",
       "0000807f00000080000000000000803f000080bf0000803f0000803f00000000000000800000807f",
       "0000807f00000080000000000000803f000080bf0000803f0000803f00000000000000800000807f"},
      {"float32", R"({"keepbits": 3})",
       "ffff7f7fffffff7fffffffffcdcc8c3fcdcc8cbf0000883f0000983f01000000000000800000807f",
       "0000807f00000080000000000000903f000090bf0000803f0000a03f00000000000000800000807f",
       "0000807f00000080000000000000903f000090bf0000803f0000a03f00000000000000800000807f"},
      {"float32", R"({"keepbits": 7})",
       "ffff7f7fffffff7fffffffffcdcc8c3fcdcc8cbf0000883f0000983f01000000000000800000807f",
       "0000807f000000800000000000008d3f00008dbf0000883f0000983f00000000000000800000807f",
       "0000807f000000800000000000008d3f00008dbf0000883f0000983f00000000000000800000807f"},
      {"float32", R"({"keepbits": 22})",
       "ffff7f7fffffff7fffffffffcdcc8c3fcdcc8cbf0000883f0000983f01000000000000800000807f",
       "0000807f0000008000000000cccc8c3fcccc8cbf0000883f0000983f00000000000000800000807f",
       "0000807f0000008000000000cccc8c3fcccc8cbf0000883f0000983f00000000000000800000807f"},
      {"float32", R"({"keepbits": 23})",
       "ffff7f7fffffff7fffffffffcdcc8c3fcdcc8cbf0000883f0000983f01000000000000800000807f",
       "ffff7f7fffffff7fffffffffcdcc8c3fcdcc8cbf0000883f0000983f01000000000000800000807f",
       "ffff7f7fffffff7fffffffffcdcc8c3fcdcc8cbf0000883f0000983f01000000000000800000807f"},
      {"float64", R"({"keepbits": 10})",
       "9a9999999999b93f555555555555d5bf9c7500883ce4377e0100000000000000",
       "000000000098b93f000000000054d5bf0000000000e4377e0000000000000000",
       "000000000098b93f000000000054d5bf0000000000e4377e0000000000000000"},
      {"float16", R"({"keepbits": 4})", "662e55b5ff7b0100", "802e40b5007c0000", "802e40b5007c0000"},
  };
  for (const filter_case& one : cases) check_filter<zp::bitround_codec>(one);
}

namespace {

/// Keeps the highest bits of a number by looking at its two neighbours.
std::uint64_t naive(std::uint64_t bits, int keep, int width) {
  int top = 0;
  while (top < 64 && bits >> top != 0) ++top;
  if (top <= keep) return bits;
  const std::uint64_t step = std::uint64_t{1} << (top - keep);
  const std::uint64_t below = bits / step * step;
  const std::uint64_t rest = bits - below;
  const bool up = rest > step / 2 || (rest == step / 2 && (below / step) % 2 == 1);
  if (!up) return below;
  const bool overflows = below + step == 0 || (width < 64 && (below + step) >> width != 0);
  return overflows ? below : below + step;
}

template <class U>
void check_integers(zp::dtype_kind kind) {
  random_source random(4);
  for (const int keep : {1, 2, 3, 7, 8}) {
    std::vector<U> values;
    for (int i = 0; i < 300; ++i) values.push_back(static_cast<U>(random() >> (i % 64)));
    values.insert(values.end(), {U{0}, U{1}, static_cast<U>(~U{0}), static_cast<U>(~U{0} / 2)});
    const zp::tensor_spec spec{kind, {static_cast<zp::index_t>(values.size())}};
    const auto codec = zp::bitround_codec{keep}.resolve(spec).value();
    std::vector<U> out(values.size());
    zp::codec_workspace scratch;
    REQUIRE(codec.encode(zp::dense_view(reinterpret_cast<const std::byte*>(values.data()), spec),
                         zp::dense_view(reinterpret_cast<std::byte*>(out.data()), spec), scratch));
    for (std::size_t i = 0; i < values.size(); ++i) {
      CAPTURE(values[i]);
      REQUIRE(out[i] == static_cast<U>(naive(values[i], keep, 8 * sizeof(U))));
    }
  }
}

}  // namespace

TEST_CASE("bitround: integers and times keep bits from the highest") {
  check_integers<std::uint8_t>(zp::dtype_kind::uint8);
  check_integers<std::uint16_t>(zp::dtype_kind::int16);
  check_integers<std::uint32_t>(zp::dtype_kind::uint32);
  check_integers<std::uint64_t>(zp::dtype_kind::uint64);
  check_integers<std::uint64_t>(zp::dtype_kind::datetime64);
}

TEST_CASE("bitround: bfloat16, and both parts of a complex number") {
  // 1 + 3 / 128 is the middle of 1 + 2 / 128 and 1 + 4 / 128.
  check_filter<zp::bitround_codec>({"bfloat16", R"({"keepbits": 6})", "833f", "843f", "843f"});
  check_filter<zp::bitround_codec>({"complex64", R"({"keepbits": 3})", "cdcc8c3fffff7f7f",
                                    "0000903f0000807f", "0000903f0000807f"});
}

TEST_CASE("bitround: keeping every bit is lossless") {
  codec_conformance(zp::bitround_codec{23},
                    {{zp::dtype_kind::float32, {3, 5}}, {zp::dtype_kind::complex64, {4, 1, 6}}});
  codec_conformance(zp::bitround_codec{16}, {{zp::dtype_kind::int16, {3, 5}}});
  // More than there are: the same.
  codec_conformance(zp::bitround_codec{24}, {{zp::dtype_kind::float32, {3, 5}}});
  codec_conformance(zp::bitround_codec{INT32_MAX}, {{zp::dtype_kind::float16, {3, 5}},
                                                    {zp::dtype_kind::int8, {3, 5}},
                                                    {zp::dtype_kind::uint64, {7}}});
}

TEST_CASE("bitround: the fill value is rounded too; the other name is known") {
  const zp::tensor_spec spec{zp::dtype_kind::float32, {4}};
  const auto codec = zp::bitround_codec{3}.resolve(spec).value();
  const byte_string fill = to_native(from_hex("cdcc8c3f"), spec.type);
  CHECK(codec.encode_fill(fill, spec).value() == to_native(from_hex("0000903f"), spec.type));
  CHECK(zp::codec_registry<zp::bitround_codec>::table().find("numcodecs.bitround") != nullptr);
}

TEST_CASE("bitround: configurations that make no sense") {
  const zp::tensor_spec floats{zp::dtype_kind::float32, {3}};
  using enum zp::errc;
  CHECK(refuses<zp::bitround_codec>("{}", floats, invalid_argument));
  CHECK(refuses<zp::bitround_codec>(R"({"keepbits": -1})", floats, invalid_argument));
  CHECK(refuses<zp::bitround_codec>(R"({"keepbits": 1.5})", floats, invalid_argument));
  CHECK(refuses<zp::bitround_codec>(R"({"keepbits": 0})", {zp::dtype_kind::int8, {1}},
                                    invalid_argument));
  CHECK(refuses<zp::bitround_codec>(R"({"keepbits": 4294967296})", floats, invalid_argument));
  CHECK(
      refuses<zp::bitround_codec>(R"({"keepbits": 1})", {zp::dtype_kind::bool_, {1}}, unsupported));
  CHECK(
      refuses<zp::bitround_codec>(R"({"keepbits": 1})", {zp::dtype_kind::int4, {1}}, unsupported));
}

}  // namespace bitround_test
