// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/convert.hpp>
#include <zarrpoint/core/types/visit.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <random>

namespace convert_test {

namespace zp = zarrpoint;
using zp::convert;

namespace {

template <class T>
T random_value(std::mt19937_64& random) {
  const std::uint64_t bits = random();
  if constexpr (std::is_same_v<T, bool>) {
    return bits % 2 == 0;
  } else if constexpr (zp::detail::is_small_float<T>) {
    return T::from_bits(static_cast<typename T::bits_type>(bits));
  } else if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  } else if constexpr (std::is_same_v<T, double>) {
    // Exponents of integers are few among all.
    return bits % 2 == 0
               ? std::bit_cast<double>(bits)
               : std::ldexp(static_cast<double>(bits >> 8), static_cast<int>(bits % 80) - 60);
  } else {
    return static_cast<T>(bits >> (bits % 64));
  }
}

/// The reference for real numbers: by way of a long double, which holds each of them exactly.
template <class To, class From>
void check_real(From value) {
  const auto exact = [&]() -> long double {
    if constexpr (zp::detail::is_small_float<From>) {
      return static_cast<float>(value);
    } else {
      return static_cast<long double>(value);
    }
  }();
  const To actual = convert<To>(value);
  CAPTURE(exact);
  if constexpr (std::is_same_v<To, bool>) {
    REQUIRE(actual == (exact != 0));
  } else if constexpr (std::is_integral_v<To>) {
    using limits = std::numeric_limits<To>;
    if constexpr (std::is_integral_v<From>) {
      REQUIRE(actual == static_cast<To>(static_cast<std::uint64_t>(value)));
    } else if (std::isnan(exact)) {
      REQUIRE(actual == 0);
    } else if (std::trunc(exact) > static_cast<long double>(limits::max())) {
      REQUIRE(actual == limits::max());
    } else if (std::trunc(exact) < static_cast<long double>(limits::min())) {
      REQUIRE(actual == limits::min());
    } else {
      REQUIRE(static_cast<long double>(actual) == std::trunc(exact));
    }
  } else if (std::isnan(exact)) {
    REQUIRE(actual != actual);
  } else if constexpr (zp::detail::is_small_float<To>) {
    // Their rounding has a test of its own; here, that it is one step from the exact value.
    if constexpr (std::is_integral_v<From> || std::is_same_v<From, double>) {
      REQUIRE(actual.to_bits() == To(value).to_bits());
    } else {
      REQUIRE(actual.to_bits() == To(static_cast<double>(exact)).to_bits());
    }
  } else {
    REQUIRE(actual == static_cast<To>(exact));
  }
}

template <class From>
void check_all_real(From value) {
  check_real<bool>(value);
  check_real<std::int8_t>(value);
  check_real<std::int16_t>(value);
  check_real<std::int32_t>(value);
  check_real<std::int64_t>(value);
  check_real<std::uint8_t>(value);
  check_real<std::uint16_t>(value);
  check_real<std::uint32_t>(value);
  check_real<std::uint64_t>(value);
  check_real<zp::float16>(value);
  check_real<zp::bfloat16>(value);
  check_real<zp::float8_e4m3fn>(value);
  check_real<zp::float8_e5m2>(value);
  check_real<float>(value);
  check_real<double>(value);
}

}  // namespace

#define REALS                                                                                      \
  bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,        \
      std::uint32_t, std::uint64_t, zp::float16, zp::bfloat16, zp::float8_e4m3fn, zp::float8_e5m2, \
      float, double

TEST_CASE_TEMPLATE("convert: random values to every real type, against long double", From, REALS) {
  std::mt19937_64 random(9);
  for (int i = 0; i < 3000; ++i) check_all_real(random_value<From>(random));
}

TEST_CASE("convert: floating point to integer truncates, saturates, and makes NaN 0") {
  CHECK(convert<int>(2.9) == 2);
  CHECK(convert<int>(-2.9) == -2);
  CHECK(convert<std::int8_t>(127.9F) == 127);
  CHECK(convert<std::int8_t>(128.0F) == 127);
  CHECK(convert<std::int8_t>(-129.0) == -128);
  CHECK(convert<std::uint8_t>(-0.9) == 0);
  CHECK(convert<std::uint8_t>(-1.0) == 0);
  CHECK(convert<std::int64_t>(0x1p63) == INT64_MAX);
  CHECK(convert<std::int64_t>(-0x1p63F) == INT64_MIN);
  CHECK(convert<std::uint64_t>(0x1p64F) == UINT64_MAX);
  CHECK(convert<std::uint64_t>(0x1.fffffep63F) == 0xffffff0000000000);
  CHECK(convert<int>(std::nan("")) == 0);
  CHECK(convert<int>(static_cast<double>(INFINITY)) == INT32_MAX);
  CHECK(convert<int>(-INFINITY) == INT32_MIN);
  CHECK(convert<std::uint16_t>(zp::bfloat16(70000)) == 65535);
}

TEST_CASE("convert: integers wrap; floats round once") {
  CHECK(convert<std::int8_t>(300) == 44);
  CHECK(convert<std::uint32_t>(-1) == UINT32_MAX);
  CHECK(convert<std::int8_t>(std::byte{255}) == -1);
  CHECK(convert<std::byte>(257) == std::byte{1});
  CHECK(convert<float>(0x1000001) == 0x1000000);
  CHECK(convert<zp::float8_e4m3fn>(465) != convert<zp::float8_e4m3fn>(465));
  CHECK(convert<zp::float8_e5m2>(1e9) == static_cast<float>(INFINITY));
  CHECK(convert<zp::bfloat16>(0x1.0100000001p+0).to_bits() == 0x3f81);
}

TEST_CASE("convert: integers below a byte wrap from integers and saturate from floats") {
  CHECK(convert<zp::int4>(9) == -7);
  CHECK(convert<zp::uint2>(-1) == 3);
  CHECK(convert<zp::int4>(100.7F) == 7);
  CHECK(convert<zp::int2>(-1e300) == -2);
  CHECK(convert<zp::uint4>(-1.5) == 0);
  CHECK(convert<zp::int4>(std::nan("")) == 0);
  CHECK(convert<zp::int4>(zp::float8_e4m3fn(-2.5)) == -2);
  CHECK(convert<std::uint64_t>(zp::int4(-1)) == UINT64_MAX);
  CHECK(convert<float>(zp::int4(-8)) == -8);
  CHECK(convert<bool>(zp::uint2(2)));
  CHECK_FALSE(convert<bool>(zp::uint2(4)));
  CHECK(convert<zp::int4>(true) == 1);
  CHECK(convert<zp::uint4>(zp::int4(-1)) == 15);
}

TEST_CASE("convert: small complex numbers") {
  const std::complex<double> value(1.5, -300.0);
  const auto small = convert<zp::complex_float8_e4m3fn>(value);
  CHECK(small.real() == 1.5F);
  CHECK(small.imag() == -288.0F);
  CHECK(convert<std::complex<float>>(small) == std::complex<float>(1.5F, -288.0F));
  CHECK(convert<zp::complex_float6_e2m3fn>(small).imag() == -7.5F);
  CHECK(convert<zp::int4>(small) == 1);
  CHECK(convert<zp::complex_bfloat16>(3) == zp::complex_bfloat16(zp::bfloat16(3), zp::bfloat16(0)));
  CHECK(convert<bool>(zp::complex_float8_e5m2(zp::float8_e5m2(0), zp::float8_e5m2(1))));
}

TEST_CASE("convert: to bool, and complex numbers") {
  using single = std::complex<float>;
  using twice = std::complex<double>;
  CHECK(convert<bool>(std::nan("")));
  CHECK_FALSE(convert<bool>(-0.0));
  CHECK(convert<bool>(zp::float8_e5m2(0.25)));
  CHECK(convert<bool>(single(0, 1)));
  CHECK(convert<bool>(single(0, NAN)));
  CHECK_FALSE(convert<bool>(single(0, -0.0F)));
  CHECK(convert<float>(twice(1.5, 2)) == 1.5F);
  CHECK(convert<std::int8_t>(twice(-300.5, 2)) == -128);
  CHECK(convert<single>(2) == single(2, 0));
  CHECK(convert<single>(twice(0.1, 1e300)) == single(0.1F, INFINITY));
  CHECK(convert<twice>(zp::float16(0.5)) == twice(0.5, 0));
  CHECK(convert<single>(true) == single(1, 0));
}

}  // namespace convert_test
