// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/kit/real_number.hpp>

#include "support/random_layout.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace real_cast_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::detail::cast_rules;
using zp::detail::out_of_range;
using zp::detail::real_format;
using zp::detail::real_number;
using zp::detail::rounding;

namespace {

constexpr rounding all_roundings[] = {rounding::nearest_even, rounding::towards_zero,
                                      rounding::towards_positive, rounding::towards_negative,
                                      rounding::nearest_away};

/// Which of two neighbours, `low` <= `x` < `high`, of which `low` is even or not.
bool goes_up(long double x, long double low, long double high, bool low_is_even, rounding how) {
  if (x == low) return false;
  const long double middle = (low + high) / 2;
  switch (how) {
    case rounding::nearest_even: return x > middle || (x == middle && !low_is_even);
    case rounding::nearest_away: return x > middle || (x == middle && x > 0);
    case rounding::towards_zero: return x < 0;
    case rounding::towards_positive: return true;
    case rounding::towards_negative: return false;
  }
  return false;
}

/// The reference for small floats: all their numbers, in order, and one beyond each end.
std::optional<double> naive(double x, const real_format& to, rounding how, out_of_range beyond) {
  std::vector<double> numbers;
  for (std::uint64_t bits = 0; bits <= to.mask(); ++bits) {
    const double value = to.read_float(bits);
    if (std::isfinite(value)) numbers.push_back(value);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  const double most = numbers.back();
  const double step = most - numbers[numbers.size() - 2];
  // Another step above the largest number is a number too, while it is rounded to.
  const double next = to.mantissa == 0 ? 2 * most : most + step;
  double rounded = x;
  const bool far = std::fabs(x) >= next;
  if (!far) {
    numbers.push_back(next);
    if (to.has_negative) numbers.insert(numbers.begin(), -next);
    if (x < numbers.front())
      return beyond == out_of_range::clamp ? std::optional(to.min) : std::nullopt;
    const auto above = std::upper_bound(numbers.begin(), numbers.end(), x);
    const double high = *above;
    const double low = *(above - 1);
    // Of two neighbours the even one is that with more zeros at the end.
    const double unit = high - low;
    const bool low_is_even = std::fmod(std::fabs(low) / unit, 2) == 0;
    rounded = goes_up(static_cast<long double>(x), static_cast<long double>(low),
                      static_cast<long double>(high), to.mantissa != 0 && low_is_even, how)
                  ? high
                  : low;
  }
  if (std::fabs(rounded) <= most) return rounded;
  if (beyond != out_of_range::clamp) return std::nullopt;
  return std::copysign(to.has_infinity ? std::numeric_limits<double>::infinity() : most, x);
}

}  // namespace

TEST_CASE("real casts: doubles to every small float, in every rounding, against all its numbers") {
  random_source random(21);
  for (const zp::dtype_kind kind : zp::all_dtype_kinds) {
    const zp::dtype type(kind);
    if (!type.is_floating() || type.size() != 1) continue;
    const real_format to(type);
    CAPTURE(std::string(zp::to_string(type)));
    for (int i = 0; i < 300; ++i) {
      // Numbers, middles and others, of all sizes.
      double x = to.read_float(random() & to.mask());
      if (!std::isfinite(x)) continue;
      if (i % 3 == 1) x *= 1 + std::ldexp(1.0, -to.mantissa - 1);
      if (i % 3 == 2) x *= std::ldexp(static_cast<double>(random() >> 12), -51);
      if (!to.has_zero && x < to.min) continue;
      for (const rounding how : all_roundings) {
        for (const out_of_range beyond : {out_of_range::refuse, out_of_range::clamp}) {
          CAPTURE(x);
          CAPTURE(static_cast<int>(how));
          const auto made = zp::detail::cast_real(real_number::of_double(x), to, {how, beyond});
          const auto expected = naive(x, to, how, beyond);
          REQUIRE(made.has_value() == expected.has_value());
          if (made) REQUIRE(to.read_float(*made) == *expected);
        }
      }
    }
  }
}

TEST_CASE("real casts: doubles to integers against long double") {
  random_source random(22);
  for (const zp::dtype_kind kind : zp::all_dtype_kinds) {
    const zp::dtype type(kind);
    if (!type.is_integer()) continue;
    const real_format to(type);
    const long double most = std::ldexp(1.0L, to.width - (to.is_signed ? 1 : 0)) - 1;
    const long double least = to.is_signed ? -most - 1 : 0;
    CAPTURE(std::string(zp::to_string(type)));
    for (int i = 0; i < 3000; ++i) {
      double x = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())),
                            static_cast<int>(pick(random, 72)) - 68);
      if (i % 2 == 0) x = std::floor(x) + 0.5;
      for (const rounding how : all_roundings) {
        const auto floor = std::floor(static_cast<long double>(x));
        const bool is_even = std::fmod(floor, 2.0L) == 0;
        const long double whole =
            goes_up(static_cast<long double>(x), floor, floor + 1, is_even, how) ? floor + 1
                                                                                 : floor;
        const bool fits = whole >= least && whole <= most;
        CAPTURE(x);
        CAPTURE(static_cast<int>(how));
        const real_number number = real_number::of_double(x);
        const auto refused = zp::detail::cast_real(number, to, {how, out_of_range::refuse});
        REQUIRE(refused.has_value() == fits);
        const auto clamped = zp::detail::cast_real(number, to, {how, out_of_range::clamp});
        const auto wrapped = zp::detail::cast_real(number, to, {how, out_of_range::wrap});
        const auto value_of = [&](std::uint64_t bits) {
          return to.is_signed
                     ? static_cast<long double>(static_cast<std::int64_t>(to.extended(bits)))
                     : static_cast<long double>(to.extended(bits));
        };
        REQUIRE(value_of(clamped.value()) == std::clamp(whole, least, most));
        REQUIRE(std::fmod(value_of(wrapped.value()) - whole, most - least + 1) == 0);
      }
    }
  }
}

TEST_CASE("real casts: 64-bit integers to floats, in every rounding") {
  const real_format single(zp::dtype_kind::float32);
  const real_format twice(zp::dtype_kind::float64);
  const auto cast = [](std::int64_t value, const real_format& to, rounding how) {
    return to.read_float(zp::detail::cast_real(real_number::of_int64(value), to, {how}).value());
  };
  const std::int64_t odd = (std::int64_t{1} << 53) + 1;
  CHECK(cast(odd, twice, rounding::nearest_even) == 0x1p53);
  CHECK(cast(odd, twice, rounding::nearest_away) == 0x1p53 + 2);
  CHECK(cast(odd, twice, rounding::towards_positive) == 0x1p53 + 2);
  CHECK(cast(-odd, twice, rounding::towards_positive) == -0x1p53);
  CHECK(cast(-odd, twice, rounding::towards_negative) == -0x1p53 - 2);
  CHECK(cast(-odd, twice, rounding::towards_zero) == -0x1p53);
  CHECK(cast(INT64_MAX, twice, rounding::towards_zero) == 0x1.fffffffffffffp62);
  CHECK(cast(INT64_MAX, single, rounding::nearest_even) == 0x1p63);
  CHECK(cast(INT64_MIN, single, rounding::towards_positive) == -0x1p63);
}

TEST_CASE("real casts: what is not a number, zeros, and the smallest ones") {
  using enum zp::dtype_kind;
  const auto cast = [](double value, zp::dtype type, cast_rules rules) {
    return zp::detail::cast_real(real_number::of_double(value), real_format(type), rules);
  };
  const cast_rules clamp{rounding::nearest_even, out_of_range::clamp};
  CHECK_FALSE(cast(NAN, int8, clamp));
  CHECK_FALSE(cast(INFINITY, int8, clamp));
  CHECK_FALSE(cast(NAN, float4_e2m1fn, clamp));
  CHECK_FALSE(cast(INFINITY, float8_e4m3fn, clamp));
  CHECK(cast(NAN, float8_e4m3fn, {}) == 0x7f);
  CHECK(cast(-INFINITY, float16, {}) == 0xfc00);
  CHECK(cast(-0.0, float16, {}) == 0x8000);
  CHECK(cast(-0.0, float8_e4m3fnuz, {}) == 0);
  CHECK(cast(-0.0, uint8, {}) == 0);
  CHECK(cast(1e39, float32, clamp) == 0x7f800000);
  CHECK_FALSE(cast(1e39, float32, {}));
  CHECK(cast(1e-60, float32, {rounding::towards_positive}) == 1);
  CHECK(cast(std::numeric_limits<double>::denorm_min(), float64, {}) == 1);
  CHECK_FALSE(cast(0, float8_e8m0fnu, {}));
  CHECK(cast(0, float8_e8m0fnu, clamp) == 0);
  CHECK(cast(-4, float8_e8m0fnu, clamp) == 0);
  CHECK_FALSE(cast(-4, float8_e8m0fnu, {}));
}

}  // namespace real_cast_test
