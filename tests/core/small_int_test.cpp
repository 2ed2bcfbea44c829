// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/small_int.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>

namespace small_int_test {

namespace zp = zarrpoint;

TEST_CASE_TEMPLATE("small integers: keep the lowest bits, and their sign", T, zp::int2, zp::int4,
                   zp::uint2, zp::uint4) {
  using limits = std::numeric_limits<T>;
  const int count = limits::max() - limits::min() + 1;
  for (int i = -300; i <= 300; ++i) {
    const T value(i);
    REQUIRE(value >= limits::min());
    REQUIRE(value <= limits::max());
    REQUIRE((value - i) % count == 0);
    REQUIRE(T(std::int64_t{i} << 32 | (i & 0xff)) == value);
    REQUIRE(value.to_bits() == (static_cast<unsigned>(i) & static_cast<unsigned>(count - 1)));
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    // Whatever lies in the upper bits of a byte from a file.
    const T value = std::bit_cast<T>(static_cast<std::uint8_t>(byte));
    REQUIRE(value == T(byte));
    REQUIRE(value.to_bits() == T(byte).to_bits());
    REQUIRE(T::from_bits(static_cast<std::uint8_t>(byte)) == value);
    REQUIRE(std::hash<T>{}(value) == std::hash<T>{}(T(byte)));
  }
}

TEST_CASE("small integers: ranges and bits") {
  CHECK(std::numeric_limits<zp::int2>::min() == -2);
  CHECK(std::numeric_limits<zp::int2>::max() == 1);
  CHECK(std::numeric_limits<zp::int4>::min() == -8);
  CHECK(std::numeric_limits<zp::int4>::max() == 7);
  CHECK(std::numeric_limits<zp::uint2>::max() == 3);
  CHECK(std::numeric_limits<zp::uint4>::max() == 15);
  CHECK(zp::int4(-1).to_bits() == 0x0f);
  CHECK(zp::uint4(-1).to_bits() == 0x0f);
  CHECK(to_string(zp::int4(-8)) == "-8");
  CHECK(zp::int4(7) + zp::int4(7) == 14);
}

TEST_CASE_TEMPLATE("small integers: elements of their dtype", T, zp::int2, zp::int4, zp::uint2,
                   zp::uint4) {
  static_assert(zp::element<T> && std::is_trivial_v<T>);
  static_assert(!std::is_convertible_v<int, T> && std::is_convertible_v<T, int>);
  CHECK(zp::dtype_of<T>.is_integer());
  CHECK(zp::dtype_of<T>.is_below_byte());
  CHECK(zp::dtype_of<T>.is_signed_integer() == std::numeric_limits<T>::is_signed);
  CHECK(zp::dtype_of<T>.bits() == static_cast<std::size_t>(std::numeric_limits<T>::digits +
                                                           std::numeric_limits<T>::is_signed));
}

}  // namespace small_int_test
