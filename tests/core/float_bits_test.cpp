// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/float_bits.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace float_bits_test {

using namespace zarrpoint;

TEST_CASE("NaN has the bits that the specification names") {
  const std::pair<dtype_kind, std::uint64_t> table[] = {
      {dtype_kind::float8_e3m4, 0x78},     {dtype_kind::float8_e4m3, 0x7c},
      {dtype_kind::float8_e4m3fn, 0x7f},   {dtype_kind::float8_e4m3b11fnuz, 0x80},
      {dtype_kind::float8_e4m3fnuz, 0x80}, {dtype_kind::float8_e5m2, 0x7e},
      {dtype_kind::float8_e5m2fnuz, 0x80}, {dtype_kind::float8_e8m0fnu, 0xff},
      {dtype_kind::float16, 0x7e00},       {dtype_kind::bfloat16, 0x7fc0},
      {dtype_kind::float32, 0x7fc00000},   {dtype_kind::float64, 0x7ff8000000000000},
  };
  for (const auto& [kind, bits] : table) {
    CHECK(detail::nan_bits(kind) == bits);
    CHECK(detail::has_nan(kind));
    CHECK(std::isnan(detail::float_value(kind, bits)));
  }
}

TEST_CASE("types below a byte have neither NaN nor infinity, and fn types no infinity") {
  for (const dtype_kind kind :
       {dtype_kind::float4_e2m1fn, dtype_kind::float6_e2m3fn, dtype_kind::float6_e3m2fn}) {
    CHECK_FALSE(detail::has_nan(kind));
    CHECK_FALSE(detail::has_infinity(kind));
    CHECK(detail::nan_bits(kind) == 0);
  }
  CHECK_FALSE(detail::has_infinity(dtype_kind::float8_e4m3fn));
  CHECK_FALSE(detail::has_infinity(dtype_kind::float8_e4m3fnuz));
  CHECK_FALSE(detail::has_infinity(dtype_kind::float8_e8m0fnu));
  CHECK(detail::has_infinity(dtype_kind::float8_e4m3));
  CHECK(detail::has_infinity(dtype_kind::float64));
}

TEST_CASE("values round once, to nearest even") {
  CHECK(detail::float_bits(dtype_kind::float32, 0.1) == 0x3dcccccd);
  CHECK(detail::float_bits(dtype_kind::float64, -0.0) == 0x8000000000000000);
  CHECK(detail::float_bits(dtype_kind::float16, 65504.0) == 0x7bff);
  CHECK(detail::float_bits(dtype_kind::float16, 65520.0) == 0x7c00);
  // Just above the middle of 1 and 1 + 2^-7; through float it would become the middle itself.
  CHECK(detail::float_bits(dtype_kind::bfloat16, 1 + 0x1p-8 + 0x1p-40) == 0x3f81);
  CHECK(detail::float_bits(dtype_kind::float8_e4m3fn, 448.0) == 0x7e);
  CHECK(detail::float_bits(dtype_kind::float8_e4m3fn, 1e9) == 0x7f);
  CHECK(detail::float_bits(dtype_kind::float8_e5m2, 1e9) == 0x7c);
}

TEST_CASE("every bit pattern of the narrow types keeps its value") {
  for (const dtype_kind kind : all_dtype_kinds) {
    if (!dtype(kind).is_floating() || dtype(kind).size() > 2) continue;
    const std::uint64_t count = std::uint64_t{1} << dtype(kind).bits();
    for (std::uint64_t bits = 0; bits < count; ++bits) {
      const double value = detail::float_value(kind, bits);
      if (!std::isnan(value) && detail::float_bits(kind, value) != bits) FAIL_CHECK(bits);
    }
  }
}

}  // namespace float_bits_test
