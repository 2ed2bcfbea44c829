// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/kit/real_number.hpp>

#include "support/filter_golden.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace real_number_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::detail::real_format;
using zp::detail::real_number;

namespace {

double as_double(const real_number& number) {
  const double size = std::ldexp(static_cast<double>(number.magnitude), number.exponent);
  return number.negative ? -size : size;
}

/// The bits, or nothing when the text is not a number of the type.
std::optional<std::uint64_t> read(std::string_view text, zp::dtype type) {
  const auto bits = zp::detail::read_real(parsed(text), real_format(type));
  if (bits) return *bits;
  CHECK(bits.failure().code == zp::errc::invalid_argument);
  return std::nullopt;
}

}  // namespace

TEST_CASE("real numbers: doubles and integers, exactly") {
  for (const double value : {0.0, 1.0, -2.5, 0.1, std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::denorm_min(), -1e-310}) {
    CHECK(as_double(real_number::of_double(value)) == value);
    CHECK(real_number::of_double(value).negative == std::signbit(value));
  }
  CHECK(real_number::of_double(-0.0).negative);
  CHECK(real_number::of_double(NAN).what == real_number::kind::nan);
  CHECK(real_number::of_double(-INFINITY).what == real_number::kind::infinite);
  CHECK(real_number::of_int64(INT64_MIN).magnitude == std::uint64_t{1} << 63);
  CHECK(real_number::of_int64(-7).negative);
}

TEST_CASE("real formats: bits as numbers, and keys that are equal when the numbers are") {
  const real_format small(zp::dtype_kind::int4);
  CHECK(as_double(small.value(0x0f)) == -1);
  CHECK(as_double(small.value(0xf8)) == -8);
  CHECK(small.key(0xf8) == small.key(0x08));
  const real_format single(zp::dtype_kind::float32);
  CHECK(single.key(0) == single.key(0x80000000));
  CHECK(single.key(0x7fc00000) == single.key(0xffc00001));
  CHECK(single.key(0x3f800000) != single.key(0x3f800001));
  const real_format natural(zp::dtype_kind::uint64);
  CHECK(natural.value(UINT64_MAX).magnitude == UINT64_MAX);
}

TEST_CASE("real numbers in JSON") {
  using enum zp::dtype_kind;
  CHECK(read("5", int8) == 5);
  CHECK(read("-5", int8) == 0xfb);
  CHECK(read("2.0", int8) == 2);
  CHECK(read("-8", int4) == 0x08);
  CHECK(read("18446744073709551615", uint64) == UINT64_MAX);
  CHECK(read("-9223372036854775808", int64) == std::uint64_t{1} << 63);
  CHECK(read("1.5", float32) == 0x3fc00000);
  CHECK(read("5", float16) == 0x4500);
  CHECK(read("\"NaN\"", float32) == 0x7fc00000);
  CHECK(read("\"+Infinity\"", float32) == 0x7f800000);
  CHECK(read("\"-Infinity\"", float8_e5m2) == 0xfc);
  CHECK(read("\"0x7fc00123\"", float32) == 0x7fc00123);
  for (const char* const text : {"128", "-129", "1.5", "\"NaN\"", "\"5\"", "null", "true", "[1]",
                                 "1e30", "-9223372036854775808", "18446744073709551615"})
    CHECK_FALSE(read(text, int8));
  CHECK_FALSE(read("-1", uint64));
  CHECK_FALSE(read("9223372036854775808", int64));
  CHECK_FALSE(read("1e300", float32));
  CHECK_FALSE(read("1e300", float4_e2m1fn));
  CHECK_FALSE(read("\"NaN\"", float4_e2m1fn));
  CHECK_FALSE(read("\"Infinity\"", float8_e4m3fn));
  CHECK_FALSE(read("0", float8_e8m0fnu));
  CHECK_FALSE(read("\"0x7f\"", float32));
  CHECK_FALSE(read("\"0xzzzzzzzz\"", float32));
  CHECK_FALSE(read("\"infinity\"", float32));
}

}  // namespace real_number_test
