// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

namespace shortest_double_test {

using zarrpoint::detail::decimal_digits;
using zarrpoint::detail::shortest_digits;

namespace {

std::string spelled(const decimal_digits& number) {
  return std::string(number.digits()) + "e" + std::to_string(number.exponent);
}

/// What the standard library says, in the same form.
std::string reference(double magnitude) {
  char text[64];
  const auto end =
      std::to_chars(text, text + sizeof text, magnitude, std::chars_format::scientific).ptr;
  const std::string_view all(text, static_cast<std::size_t>(end - text));
  const std::size_t e = all.find('e');
  std::string digits(all.substr(0, e));
  std::erase(digits, '.');
  return digits + "e" + std::to_string(std::stoi(std::string(all.substr(e + 1))));
}

}  // namespace

TEST_CASE("the fewest digits, and of those the nearest") {
  CHECK(spelled(shortest_digits(1)) == "1e0");
  CHECK(spelled(shortest_digits(0.1)) == "1e-1");
  CHECK(spelled(shortest_digits(1e23)) == "1e23");
  CHECK(spelled(shortest_digits(5e-324)) == "5e-324");
  CHECK(spelled(shortest_digits(std::numeric_limits<double>::max())) == "17976931348623157e308");
  // 2^-44: the nearest of 16 digits reads back as another number, the one above it as this.
  CHECK(spelled(shortest_digits(0x1p-44)) == "5684341886080802e-14");
  // Halfway between two of 17 digits: the even one.
  CHECK(spelled(shortest_digits(0x1p50 + 0.25)) == "11258999068426242e15");
  CHECK(spelled(shortest_digits(0x1p50 + 0.75)) == "11258999068426248e15");
}

TEST_CASE("the digits are those of std::to_chars") {
  const auto check = [](double magnitude) {
    CAPTURE(magnitude);
    REQUIRE(spelled(shortest_digits(magnitude)) == reference(magnitude));
  };
  for (int exponent = -1074; exponent < 1024; ++exponent) {
    const double power = std::ldexp(1.0, exponent);
    check(power);
    check(std::nextafter(power, 1e308));
    if (exponent > -1074) check(std::nextafter(power, 0));
  }
  double tens = 1e-300;
  for (int i = 0; i < 600; ++i, tens *= 10) check(tens);
  std::mt19937_64 random(11);
  for (int i = 0; i < 20000; ++i) {
    const double any = std::fabs(std::bit_cast<double>(random()));
    if (std::isfinite(any) && any > 0) check(any);
    check(std::bit_cast<double>((random() >> 12) | 1));         // subnormal
    check(static_cast<double>(random() % 1000000 + 1) / 1000);  // few digits
    check(static_cast<double>(std::bit_cast<float>(0x3f000000U + static_cast<std::uint32_t>(i))));
  }
}

TEST_CASE("the next larger decimal") {
  decimal_digits number{.text = {'1', '9', '9'}, .size = 3, .exponent = 0};
  number.increment();
  CHECK(spelled(number) == "2e0");
  number = {.text = {'9', '9'}, .size = 2, .exponent = 4};
  number.increment();
  CHECK(spelled(number) == "1e5");
  CHECK(number.read_back() == 1e5);
}

}  // namespace shortest_double_test
