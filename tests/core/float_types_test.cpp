// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/float_types.hpp>

#include "support/random_rounds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace float_types_test {

namespace zp = zarrpoint;

namespace {

/// The fields of a format, for a reference that works with numbers and not with bits.
struct format {
  int exponent;
  int mantissa;
  int bias;
  zp::float_specials specials;
};
template <class T>
constexpr format fields{};
template <>
constexpr format fields<zp::float16>{5, 10, 15, zp::float_specials::ieee};
template <>
constexpr format fields<zp::bfloat16>{8, 7, 127, zp::float_specials::ieee};
template <>
constexpr format fields<zp::float8_e3m4>{3, 4, 3, zp::float_specials::ieee};
template <>
constexpr format fields<zp::float8_e4m3>{4, 3, 7, zp::float_specials::ieee};
template <>
constexpr format fields<zp::float8_e4m3fn>{4, 3, 7, zp::float_specials::fn};
template <>
constexpr format fields<zp::float8_e4m3b11fnuz>{4, 3, 11, zp::float_specials::fnuz};
template <>
constexpr format fields<zp::float8_e4m3fnuz>{4, 3, 8, zp::float_specials::fnuz};
template <>
constexpr format fields<zp::float8_e5m2>{5, 2, 15, zp::float_specials::ieee};
template <>
constexpr format fields<zp::float8_e5m2fnuz>{5, 2, 16, zp::float_specials::fnuz};
template <>
constexpr format fields<zp::float6_e2m3fn>{2, 3, 1, zp::float_specials::none};
template <>
constexpr format fields<zp::float6_e3m2fn>{3, 2, 3, zp::float_specials::none};
template <>
constexpr format fields<zp::float4_e2m1fn>{2, 1, 1, zp::float_specials::none};

/// The number that bits without a sign stand for, if there were neither infinities nor NaNs.
template <class T>
long double value_of(unsigned bits) {
  const int bias = fields<T>.bias;
  const unsigned mantissa = bits & ((1U << fields<T>.mantissa) - 1);
  const int field = static_cast<int>(bits >> fields<T>.mantissa);
  if (field == 0)
    return std::ldexp(static_cast<long double>(mantissa), 1 - bias - fields<T>.mantissa);
  return std::ldexp(static_cast<long double>(mantissa + (1U << fields<T>.mantissa)),
                    field - bias - fields<T>.mantissa);
}

template <class T>
unsigned sign_bit() {
  return 1U << (fields<T>.exponent + fields<T>.mantissa);
}

/// The first bits without a sign that are not a number.
template <class T>
unsigned end_of_numbers() {
  if (fields<T>.specials == zp::float_specials::fn) return sign_bit<T>() - 1;
  if (fields<T>.specials != zp::float_specials::ieee) return sign_bit<T>();
  return ((1U << fields<T>.exponent) - 1) << fields<T>.mantissa;
}

/// The reference: looks the neighbours of `x` up among all numbers and compares with their middle,
/// which is exact in a long double.
template <class T>
unsigned nearest_magnitude(long double x) {
  static const std::vector<long double> numbers = [] {
    std::vector<long double> out;
    for (unsigned bits = 0; bits <= end_of_numbers<T>(); ++bits) out.push_back(value_of<T>(bits));
    return out;
  }();
  const auto above = std::upper_bound(numbers.begin(), numbers.end(), x);
  if (above == numbers.end()) return end_of_numbers<T>();
  const auto low = static_cast<unsigned>(above - numbers.begin()) - 1;
  const long double middle = (numbers[low] + numbers[low + 1]) / 2;
  if (x > middle || (x == middle && low % 2 == 1)) return low + 1;
  return low;
}
template <class T>
unsigned nearest(long double x) {
  using enum zp::float_specials;
  unsigned bits = nearest_magnitude<T>(std::fabs(x));
  if (fields<T>.specials == none && bits == end_of_numbers<T>()) --bits;
  if (fields<T>.specials == fnuz && bits == 0) return 0;
  return std::signbit(x) ? bits | sign_bit<T>() : bits;
}

}  // namespace

#define IEEE_FLOATS zp::float16, zp::bfloat16, zp::float8_e3m4, zp::float8_e4m3, zp::float8_e5m2
#define FLOATS_WITH_NAN \
  IEEE_FLOATS, zp::float8_e4m3fn, zp::float8_e4m3b11fnuz, zp::float8_e4m3fnuz, zp::float8_e5m2fnuz
#define SMALL_FLOATS FLOATS_WITH_NAN, zp::float6_e2m3fn, zp::float6_e3m2fn, zp::float4_e2m1fn

TEST_CASE_TEMPLATE("small floats: every pattern becomes its float and comes back", T,
                   SMALL_FLOATS) {
  using bits_type = typename T::bits_type;
  for (unsigned bits = 0; bits < 2 * sign_bit<T>(); ++bits) {
    CAPTURE(bits);
    const T value = T::from_bits(static_cast<bits_type>(bits));
    REQUIRE(value.to_bits() == bits);
    const float number = value;
    const unsigned rest = bits & ~sign_bit<T>();
    const bool is_nan_zero =
        fields<T>.specials == zp::float_specials::fnuz && bits == sign_bit<T>();
    REQUIRE(std::signbit(number) == (bits != rest));
    if (rest < end_of_numbers<T>() && !is_nan_zero) {
      REQUIRE(static_cast<long double>(std::fabs(number)) == value_of<T>(rest));
      REQUIRE(T(number).to_bits() == bits);
      REQUIRE(T(static_cast<double>(number)).to_bits() == bits);
    } else if (rest == end_of_numbers<T>() && std::numeric_limits<T>::has_infinity) {
      REQUIRE(std::isinf(number));
      REQUIRE(T(number).to_bits() == bits);
      REQUIRE(T(static_cast<double>(number)).to_bits() == bits);
    } else {
      REQUIRE(std::isnan(number));
      REQUIRE(value != value);
      REQUIRE(std::isnan(static_cast<float>(T(number))));
      REQUIRE(std::signbit(static_cast<float>(T(number))) == std::signbit(number));
      REQUIRE(std::isnan(static_cast<float>(T(static_cast<double>(number)))));
    }
  }
}

TEST_CASE_TEMPLATE("small floats: the middle of any two neighbours, and beside it", T,
                   SMALL_FLOATS) {
  for (unsigned bits = 0; bits < end_of_numbers<T>(); ++bits) {
    const long double middle = (value_of<T>(bits) + value_of<T>(bits + 1)) / 2;
    const auto single = static_cast<float>(middle);
    const auto twice = static_cast<double>(middle);
    CAPTURE(bits);
    for (const float x : {single, std::nextafter(single, 0.0F), std::nextafter(single, INFINITY)}) {
      REQUIRE(T(x).to_bits() == nearest<T>(static_cast<long double>(x)));
      REQUIRE(T(-x).to_bits() == nearest<T>(static_cast<long double>(-x)));
    }
    // One bit of a double beyond the middle would be lost by way of a float.
    for (const double x :
         {twice, std::nextafter(twice, 0.0), std::nextafter(twice, double{INFINITY})}) {
      REQUIRE(T(x).to_bits() == nearest<T>(static_cast<long double>(x)));
      REQUIRE(T(-x).to_bits() == nearest<T>(static_cast<long double>(-x)));
    }
  }
}

TEST_CASE_TEMPLATE("small floats: random bits of float, double and integers", T, SMALL_FLOATS) {
  std::mt19937_64 random(7);
  for (int i = 0; i < zarrpoint_test::random_rounds(200000); ++i) {
    const std::uint64_t bits = random();
    const auto single = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const auto twice = std::bit_cast<double>(bits);
    CAPTURE(bits);
    if (!std::isnan(single))
      REQUIRE(T(single).to_bits() == nearest<T>(static_cast<long double>(single)));
    if (!std::isnan(twice))
      REQUIRE(T(twice).to_bits() == nearest<T>(static_cast<long double>(twice)));
    const std::uint64_t natural = bits >> (random() % 64);
    const auto integer = static_cast<std::int64_t>(bits) >> (random() % 64);
    REQUIRE(T(natural).to_bits() == nearest<T>(static_cast<long double>(natural)));
    REQUIRE(T(integer).to_bits() == nearest<T>(static_cast<long double>(integer)));
  }
}

TEST_CASE_TEMPLATE("small floats: the ends of the integers", T, SMALL_FLOATS) {
  CHECK(static_cast<float>(T(true)) == 1.0F);
  CHECK(static_cast<float>(T(0)) == 0.0F);
  CHECK(T(std::int8_t{-128}).to_bits() == nearest<T>(-128.0L));
  CHECK(T(std::numeric_limits<std::int64_t>::min()).to_bits() == nearest<T>(-0x1p63L));
  CHECK(T(std::numeric_limits<std::uint64_t>::max()).to_bits() == nearest<T>(0x1p64L));
}

TEST_CASE_TEMPLATE("small floats: numeric_limits are those of the format", T, SMALL_FLOATS) {
  using limits = std::numeric_limits<T>;
  const auto f = [](T value) { return static_cast<float>(value); };
  CHECK(f(limits::max()) == static_cast<float>(value_of<T>(end_of_numbers<T>() - 1)));
  CHECK(f(limits::lowest()) == -f(limits::max()));
  CHECK(f(limits::min()) == std::ldexp(1.0F, limits::min_exponent - 1));
  CHECK(f(limits::denorm_min()) == static_cast<float>(value_of<T>(1)));
  CHECK(f(limits::epsilon()) == std::ldexp(1.0F, 1 - limits::digits));
  CHECK(f(limits::max()) < std::ldexp(1.0F, limits::max_exponent - 1) * 2);
  CHECK(f(limits::max()) >= std::ldexp(1.0F, limits::max_exponent - 1));
  CHECK(std::isnan(f(limits::quiet_NaN())) == limits::has_quiet_NaN);
  CHECK(std::isnan(f(limits::signaling_NaN())) == limits::has_quiet_NaN);
  CHECK(std::isinf(f(limits::infinity())) == limits::has_infinity);
  CHECK(std::pow(10.0, limits::max_exponent10) <= static_cast<double>(f(limits::max())));
  CHECK(std::pow(10.0, limits::max_exponent10 + 1) > static_cast<double>(f(limits::max())));
  CHECK(std::pow(10.0, limits::min_exponent10) >= static_cast<double>(f(limits::min())));
  CHECK(std::pow(10.0, limits::min_exponent10 - 1) < static_cast<double>(f(limits::min())));
  CHECK(limits::digits10 == static_cast<int>((limits::digits - 1) * std::log10(2.0)));
  CHECK(limits::max_digits10 == static_cast<int>(std::ceil(limits::digits * std::log10(2.0) + 1)));
}

TEST_CASE_TEMPLATE("small floats: to_string is the shortest that reads back", T, SMALL_FLOATS) {
  using bits_type = typename T::bits_type;
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    const T value = T::from_bits(static_cast<bits_type>(random()));
    const std::string text = zp::to_string(value);
    CAPTURE(text);
    if (value != value) {
      REQUIRE(text == "nan");
    } else {
      REQUIRE(T(std::stod(text)).to_bits() == value.to_bits());
    }
  }
}

TEST_CASE("small floats: text") {
  CHECK(zp::to_string(zp::bfloat16(0.1)) == "0.1");
  CHECK(zp::to_string(zp::float16(65504)) == "65504");
  CHECK(zp::to_string(zp::float8_e4m3fn(-448)) == "-448");
  CHECK(zp::to_string(zp::float16(0)) == "0");
  CHECK(zp::to_string(zp::float16(-0.0)) == "-0");
  CHECK(zp::to_string(std::numeric_limits<zp::bfloat16>::infinity()) == "inf");
}

TEST_CASE_TEMPLATE("small floats: compare as numbers, hash alike when equal", T, SMALL_FLOATS) {
  const T zero(0);
  const T minus_zero(-0.0);
  const bool one_zero = fields<T>.specials == zp::float_specials::fnuz;
  CHECK((zero.to_bits() == minus_zero.to_bits()) == one_zero);
  CHECK(zero == minus_zero);
  CHECK(std::hash<T>{}(zero) == std::hash<T>{}(minus_zero));
  CHECK(std::hash<T>{}(T(1)) != std::hash<T>{}(T(2)));
  CHECK(T(1) < T(2));
  CHECK(T(2) >= T(1.5));
  CHECK(T(1) + T(2) == 3.0F);
  CHECK(T(2) > 1);
}

TEST_CASE_TEMPLATE("small floats: a NaN is equal to nothing", T, FLOATS_WITH_NAN) {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  CHECK_FALSE(nan == nan);
  CHECK((nan <=> T(0)) == std::partial_ordering::unordered);
}

TEST_CASE_TEMPLATE("small floats: numbers only", T, zp::float6_e2m3fn, zp::float6_e3m2fn,
                   zp::float4_e2m1fn) {
  const T most = std::numeric_limits<T>::max();
  CHECK(T(INFINITY).to_bits() == most.to_bits());
  CHECK(T(-INFINITY).to_bits() == std::numeric_limits<T>::lowest().to_bits());
  CHECK(T(std::numeric_limits<double>::max()) == most);
  CHECK(T(NAN).to_bits() == sign_bit<T>());
  CHECK(T(-NAN).to_bits() == 0);
  // The upper bits of the byte say nothing.
  const T odd = std::bit_cast<T>(std::uint8_t{0xc1});
  CHECK(odd.to_bits() == 1);
  CHECK(odd == T::from_bits(1));
  CHECK(T::from_bits(0xc1).to_bits() == 1);
  CHECK(std::hash<T>{}(odd) == std::hash<T>{}(T::from_bits(1)));
}

TEST_CASE_TEMPLATE("small floats: elements of their dtype, constexpr, as light as their bits", T,
                   SMALL_FLOATS) {
  static_assert(zp::element<T>);
  static_assert(std::is_trivial_v<T> && std::is_standard_layout_v<T>);
  static_assert(T(1.5F) == T(1.5) && static_cast<float>(T(-2)) == -2.0F);
  static_assert(!std::is_convertible_v<float, T> && std::is_convertible_v<T, float>);
  CHECK(zp::dtype_of<T>.is_floating());
  CHECK(zp::dtype_of<T>.size() == sizeof(T));
}

namespace {

std::uint64_t fnv(std::uint64_t hash, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) hash = (hash ^ (value >> (8 * i) & 0xff)) * 0x100000001b3;
  return hash;
}

/// Checksums of what ml_dtypes 0.6 gives: all patterns as floats, 262144 floats of every sign and
/// exponent, at ties and beside them, and the integers from -1000 to 1000.
template <class T>
void check_golden(std::uint64_t to_float, std::uint64_t from_float, std::uint64_t from_integer) {
  constexpr std::uint64_t start = 0xcbf29ce484222325;
  std::uint64_t hash = start;
  for (unsigned bits = 0; bits < 256; ++bits) {
    // ml_dtypes takes the upper bits of types below a byte for a sign: not so here.
    const float value = std::bit_cast<T>(static_cast<std::uint8_t>(bits));
    hash = fnv(hash, std::isnan(value) ? 0x7fc00000 : std::bit_cast<std::uint32_t>(value), 4);
  }
  CHECK(hash == to_float);
  hash = start;
  for (std::uint32_t upper = 0; upper < 65536; ++upper) {
    for (const std::uint32_t lower : {0U, 1U, 0x8000U, 0xffffU})
      hash = fnv(hash, T(std::bit_cast<float>(upper << 16 | lower)).to_bits(), 1);
  }
  CHECK(hash == from_float);
  hash = start;
  for (int i = -1000; i <= 1000; ++i) hash = fnv(hash, T(i).to_bits(), 1);
  CHECK(hash == from_integer);
}

}  // namespace

TEST_CASE("small floats: checksums of all patterns and of many values from ml_dtypes") {
  check_golden<zp::float8_e3m4>(0xf47936f19e549625, 0x951e517596f48825, 0xeb186c2351b8825f);
  check_golden<zp::float8_e4m3>(0x225eaf4799a27e65, 0x9947199c1a40f325, 0x30ce2ea5a4a9528f);
  check_golden<zp::float8_e4m3fn>(0xdad1d9c50f749ca5, 0x837e888e23c1b0e5, 0x3f12e6aac781051f);
  check_golden<zp::float8_e4m3b11fnuz>(0xd90d7a600530d158, 0x07890683689935a5, 0x4b485b4e0f05ecbf);
  check_golden<zp::float8_e4m3fnuz>(0xf51851cb11c63018, 0x4891e00ecfdd35a5, 0x18dc80d26ec40bef);
  check_golden<zp::float8_e5m2>(0x6c1e56b6fb09c905, 0x88d79dc2e42f2325, 0xf92caa0f69162dcf);
  check_golden<zp::float8_e5m2fnuz>(0x94ae6fc493d49818, 0x1fbeedd6a2c514a5, 0xc4d779122719e4cf);
  check_golden<zp::float6_e2m3fn>(0x2cd6942b8460ed25, 0x88923db0814ac4e5, 0x3288ab41b6ba223f);
  check_golden<zp::float6_e3m2fn>(0xc7270f06df8985a5, 0x6157a092302ece25, 0xb4d8527d76e5bfa7);
  check_golden<zp::float4_e2m1fn>(0x00e6eccc4e469b25, 0x539bffa69eb57825, 0x43ebeafa53e3be4f);
}

TEST_CASE("small floats: the same bits as numpy and ml_dtypes") {
  // From ml_dtypes 0.5: float64 cast to float16, bfloat16, float8_e4m3fn, float8_e5m2.
  struct row {
    double value;
    unsigned half, brain, e4m3, e5m2;
  };
  static constexpr row rows[] = {
      {0x0.0p+0, 0x0000, 0x0000, 0x00, 0x00},
      {-0x0.0p+0, 0x8000, 0x8000, 0x80, 0x80},
      {0x1.0000000000000p+0, 0x3c00, 0x3f80, 0x38, 0x3c},
      {-0x1.0000000000000p+0, 0xbc00, 0xbf80, 0xb8, 0xbc},
      {0x1.999999999999ap-4, 0x2e66, 0x3dcd, 0x1d, 0x2e},
      {0x1.5555555555555p-2, 0x3555, 0x3eab, 0x2b, 0x35},
      {0x1.0000000000000p-1, 0x3800, 0x3f00, 0x30, 0x38},
      {0x1.0000000000000p+1, 0x4000, 0x4000, 0x40, 0x40},
      {0x1.921fb53c8d4f1p+1, 0x4248, 0x4049, 0x45, 0x42},
      {0x1.c000000000000p+8, 0x5f00, 0x43e0, 0x7e, 0x5f},
      {0x1.d000000000000p+8, 0x5f40, 0x43e8, 0x7e, 0x5f},
      {0x1.d01999999999ap+8, 0x5f40, 0x43e8, 0x7f, 0x5f},
      {0x1.d100000000000p+8, 0x5f44, 0x43e8, 0x7f, 0x5f},
      {0x1.e000000000000p+8, 0x5f80, 0x43f0, 0x7f, 0x60},
      {0x1.c000000000000p+15, 0x7b00, 0x4760, 0x7f, 0x7b},
      {0x1.dffe000000000p+15, 0x7b80, 0x4770, 0x7f, 0x7b},
      {0x1.e000000000000p+15, 0x7b80, 0x4770, 0x7f, 0x7c},
      {0x1.ffc0000000000p+15, 0x7bff, 0x4780, 0x7f, 0x7c},
      {0x1.ffde000000000p+15, 0x7bff, 0x4780, 0x7f, 0x7c},
      {0x1.ffe0000000000p+15, 0x7c00, 0x4780, 0x7f, 0x7c},
      {0x1.0624dd2f1a9fcp-10, 0x1419, 0x3a83, 0x01, 0x14},
      {0x1.0000000000000p-9, 0x1800, 0x3b00, 0x01, 0x18},
      {0x1.0000000000000p-10, 0x1400, 0x3a80, 0x00, 0x14},
      {0x1.8000000000000p-9, 0x1a00, 0x3b40, 0x02, 0x1a},
      {0x1.0000000000000p-14, 0x0400, 0x3880, 0x00, 0x04},
      {0x1.0000000000000p-16, 0x0100, 0x3780, 0x00, 0x01},
      {0x1.0000000000000p-17, 0x0080, 0x3700, 0x00, 0x00},
      {0x1.0000000000000p-24, 0x0001, 0x3380, 0x00, 0x00},
      {0x1.0000000000000p-25, 0x0000, 0x3300, 0x00, 0x00},
      {0x1.8000000000000p-25, 0x0001, 0x3340, 0x00, 0x00},
      {0x1.0000000000000p-133, 0x0000, 0x0001, 0x00, 0x00},
      {0x1.0000000000000p-134, 0x0000, 0x0000, 0x00, 0x00},
      {0x1.fe00000000000p+127, 0x7c00, 0x7f7f, 0x7f, 0x7c},
      {0x1.ff0000b2a5be4p+127, 0x7c00, 0x7f80, 0x7f, 0x7c},
      {0x1.78287f49c4a1dp+129, 0x7c00, 0x7f80, 0x7f, 0x7c},
      {0x1.0100000000000p+0, 0x3c04, 0x3f80, 0x38, 0x3c},
      {0x1.0300000000000p+0, 0x3c0c, 0x3f82, 0x38, 0x3c},
      {0x1.0020000001000p+0, 0x3c01, 0x3f80, 0x38, 0x3c},
  };
  for (const row& r : rows) {
    CAPTURE(r.value);
    CHECK(zp::float16(r.value).to_bits() == r.half);
    CHECK(zp::bfloat16(r.value).to_bits() == r.brain);
    CHECK(zp::float8_e4m3fn(r.value).to_bits() == r.e4m3);
    CHECK(zp::float8_e5m2(r.value).to_bits() == r.e5m2);
  }
  CHECK(zp::float16(INFINITY).to_bits() == 0x7c00);
  CHECK(zp::bfloat16(-INFINITY).to_bits() == 0xff80);
  CHECK(zp::float8_e4m3fn(INFINITY).to_bits() == 0x7f);
  CHECK(zp::float8_e4m3fn(-INFINITY).to_bits() == 0xff);
  CHECK(zp::float8_e5m2(-INFINITY).to_bits() == 0xfc);
  // Here ml_dtypes rounds twice, by way of a float, to 0x3f80.
  CHECK(zp::bfloat16(0x1.0100000001p+0).to_bits() == 0x3f81);
}

}  // namespace float_types_test
