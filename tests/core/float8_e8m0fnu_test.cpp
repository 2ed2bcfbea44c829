// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/float8_e8m0fnu.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

namespace float8_e8m0fnu_test {

using zarrpoint::float8_e8m0fnu;

namespace {

float8_e8m0fnu power(int bits) {
  return float8_e8m0fnu::from_bits(static_cast<std::uint8_t>(bits));
}

}  // namespace

TEST_CASE("float8_e8m0fnu: every pattern is a power of two, the last one is NaN") {
  for (int bits = 0; bits < 255; ++bits) {
    const float value = power(bits);
    REQUIRE(value == std::ldexp(1.0F, bits - 127));
    REQUIRE(float8_e8m0fnu(value).to_bits() == bits);
    REQUIRE(float8_e8m0fnu(static_cast<double>(value)).to_bits() == bits);
  }
  CHECK(std::isnan(static_cast<float>(power(255))));
}

TEST_CASE("float8_e8m0fnu: the nearest power, from the middle up") {
  for (int bits = 1; bits < 255; ++bits) {
    const double middle = 1.5 * static_cast<double>(static_cast<float>(power(bits)));
    REQUIRE(float8_e8m0fnu(middle).to_bits() == bits + 1);
    REQUIRE(float8_e8m0fnu(std::nextafter(middle, 0.0)).to_bits() == bits);
  }
  for (int shift = 1; shift < 63; ++shift) {
    const std::int64_t one = std::int64_t{1} << shift;
    REQUIRE(float8_e8m0fnu(one).to_bits() == 127 + shift);
    REQUIRE(float8_e8m0fnu(one + one / 2).to_bits() == 128 + shift);
    if (shift > 1) REQUIRE(float8_e8m0fnu(one + one / 2 - 1).to_bits() == 127 + shift);
  }
  CHECK(float8_e8m0fnu(UINT64_MAX).to_bits() == 127 + 64);
  CHECK(float8_e8m0fnu(true).to_bits() == 127);
}

TEST_CASE("float8_e8m0fnu: what is not a positive number is NaN; what is tiny is the smallest") {
  for (const double value : {0.0, -0.0, -1.0, double{NAN}, double{INFINITY}, double{-INFINITY},
                             0x1.8p127, std::numeric_limits<double>::max()})
    CHECK(float8_e8m0fnu(value).to_bits() == 0xff);
  CHECK(float8_e8m0fnu(0).to_bits() == 0xff);
  CHECK(float8_e8m0fnu(-5).to_bits() == 0xff);
  CHECK(float8_e8m0fnu(std::numeric_limits<double>::denorm_min()).to_bits() == 0);
  CHECK(float8_e8m0fnu(0x1p-127).to_bits() == 0);
  CHECK(float8_e8m0fnu(0x1.01p-127).to_bits() == 1);
}

TEST_CASE("float8_e8m0fnu: checksums of many floats and integers from ml_dtypes 0.6") {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::uint8_t byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (std::uint32_t upper = 0; upper < 65536; ++upper) {
    for (const std::uint32_t lower : {0U, 1U, 0x8000U, 0xffffU})
      add(float8_e8m0fnu(std::bit_cast<float>(upper << 16 | lower)).to_bits());
  }
  CHECK(hash == 0x04d98d9b0609b8db);
  hash = 0xcbf29ce484222325;
  for (int i = -1000; i <= 1000; ++i) add(float8_e8m0fnu(i).to_bits());
  CHECK(hash == 0x047a318b5cbb6a55);
}

TEST_CASE("float8_e8m0fnu: limits, text, comparison") {
  using limits = std::numeric_limits<float8_e8m0fnu>;
  CHECK(static_cast<float>(limits::max()) == std::ldexp(1.0F, limits::max_exponent - 1));
  CHECK(static_cast<double>(limits::min()) == std::ldexp(1.0, limits::min_exponent - 1));
  CHECK(limits::lowest() == limits::min());
  CHECK(limits::quiet_NaN() != limits::quiet_NaN());
  CHECK(to_string(float8_e8m0fnu(0.5)) == "0.5");
  CHECK(to_string(float8_e8m0fnu(4)) == "4");
  CHECK(to_string(limits::quiet_NaN()) == "nan");
  CHECK(float8_e8m0fnu(2) < float8_e8m0fnu(4));
  CHECK(std::hash<float8_e8m0fnu>{}(power(1)) != std::hash<float8_e8m0fnu>{}(power(2)));
  static_assert(zarrpoint::element<float8_e8m0fnu>);
  static_assert(std::is_trivial_v<float8_e8m0fnu>);
  static_assert(float8_e8m0fnu(3.0F).to_bits() == 129);
}

}  // namespace float8_e8m0fnu_test
