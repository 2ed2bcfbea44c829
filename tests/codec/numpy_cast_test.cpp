// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/kit/filter.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <string>
#include <vector>

namespace numpy_cast_test {

namespace zp = zarrpoint;
using zp::detail::numpy_truncate;

TEST_CASE("NumPy's arithmetic: the type of a sum, as NumPy 2.4 has it for every pair") {
  using enum zp::dtype_kind;
  constexpr zp::dtype_kind types[] = {bool_,   int8,    int16,     int32,     int64,
                                      uint8,   uint16,  uint32,    uint64,    float16,
                                      float32, float64, complex64, complex128};
  static constexpr std::size_t sums[14][14] = {
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13},
      {1, 1, 2, 3, 4, 2, 3, 4, 11, 9, 10, 11, 12, 13},
      {2, 2, 2, 3, 4, 2, 3, 4, 11, 10, 10, 11, 12, 13},
      {3, 3, 3, 3, 4, 3, 3, 4, 11, 11, 11, 11, 13, 13},
      {4, 4, 4, 4, 4, 4, 4, 4, 11, 11, 11, 11, 13, 13},
      {5, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13},
      {6, 3, 3, 3, 4, 6, 6, 7, 8, 10, 10, 11, 12, 13},
      {7, 4, 4, 4, 4, 7, 7, 7, 8, 11, 11, 11, 13, 13},
      {8, 11, 11, 11, 11, 8, 8, 8, 8, 11, 11, 11, 13, 13},
      {9, 9, 10, 11, 11, 9, 10, 11, 11, 9, 10, 11, 12, 13},
      {10, 10, 10, 11, 11, 10, 10, 11, 11, 10, 10, 11, 12, 13},
      {11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 13, 13},
      {12, 12, 12, 13, 13, 12, 12, 13, 13, 12, 12, 13, 12, 13},
      {13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13},
  };
  for (std::size_t a = 0; a < 14; ++a) {
    for (std::size_t b = 0; b < 14; ++b) {
      CAPTURE(std::string(zp::to_string(zp::dtype(types[a]))));
      CAPTURE(std::string(zp::to_string(zp::dtype(types[b]))));
      CHECK(zp::detail::promote(types[a], types[b]) == types[sums[a][b]]);
    }
  }
  std::size_t known = 0;
  for (const zp::dtype_kind kind : zp::all_dtype_kinds) known += zp::detail::is_numpy_number(kind);
  CHECK(known == 14);
}

TEST_CASE("NumPy's arithmetic: floats as integers, whatever they are") {
  // From NumPy 2.4 on x86-64.
  const double nan = std::nan("");
  const double inf = HUGE_VAL;
  CHECK(numpy_truncate<std::int8_t>(200.0) == -56);
  CHECK(numpy_truncate<std::int8_t>(-200.7) == 56);
  CHECK(numpy_truncate<std::int8_t>(70000.5) == 112);
  CHECK(numpy_truncate<std::int8_t>(3e9) == 0);
  CHECK(numpy_truncate<std::uint8_t>(-1.5) == 255);
  CHECK(numpy_truncate<std::uint8_t>(nan) == 0);
  CHECK(numpy_truncate<std::uint16_t>(-200.7) == 65336);
  CHECK(numpy_truncate<std::int16_t>(70000.5) == 4464);
  CHECK(numpy_truncate<std::int32_t>(3e9) == INT32_MIN);
  CHECK(numpy_truncate<std::int32_t>(0x1p31) == INT32_MIN);
  CHECK(numpy_truncate<std::int32_t>(-0x1p31) == INT32_MIN);
  CHECK(numpy_truncate<std::int32_t>(0x1p31 - 1) == INT32_MAX);
  CHECK(numpy_truncate<std::int32_t>(nan) == INT32_MIN);
  CHECK(numpy_truncate<std::uint32_t>(-200.7) == 4294967096U);
  CHECK(numpy_truncate<std::uint32_t>(3e9) == 3000000000U);
  CHECK(numpy_truncate<std::uint32_t>(-3e9) == 2147483648U);
  CHECK(numpy_truncate<std::uint32_t>(5e9) == 0);
  CHECK(numpy_truncate<std::uint32_t>(inf) == 0);
  CHECK(numpy_truncate<std::uint32_t>(nan) == 2147483648U);
  CHECK(numpy_truncate<std::int64_t>(5e9) == 5000000000);
  CHECK(numpy_truncate<std::int64_t>(0x1p63) == INT64_MIN);
  CHECK(numpy_truncate<std::int64_t>(-inf) == INT64_MIN);
  CHECK(numpy_truncate<std::int64_t>(nan) == INT64_MIN);
  CHECK(numpy_truncate<std::uint64_t>(1e19) == 10000000000000000000U);
  CHECK(numpy_truncate<std::uint64_t>(-1.5) == UINT64_MAX);
  CHECK(numpy_truncate<std::uint64_t>(-1e19) == std::uint64_t{1} << 63);
  CHECK(numpy_truncate<std::uint64_t>(1e20) == 0);
  CHECK(numpy_truncate<std::uint64_t>(nan) == std::uint64_t{1} << 63);
}

TEST_CASE("NumPy's arithmetic: casts of runs") {
  const std::vector<std::complex<float>> from = {{300.5F, 1}, {-1.5F, 2}};
  std::vector<std::uint8_t> to(2);
  REQUIRE(zp::detail::numpy_cast(
      zp::dense_view(reinterpret_cast<std::byte*>(to.data()), {zp::dtype_kind::uint8, {2}}),
      zp::dense_view(reinterpret_cast<const std::byte*>(from.data()),
                     {zp::dtype_kind::complex64, {2}})));
  CHECK(to == std::vector<std::uint8_t>{44, 255});
  std::vector<float> real(2);
  REQUIRE(zp::detail::numpy_cast(
      zp::dense_view(reinterpret_cast<std::byte*>(real.data()), {zp::dtype_kind::float32, {2}}),
      zp::dense_view(reinterpret_cast<const std::byte*>(from.data()),
                     {zp::dtype_kind::complex64, {2}})));
  CHECK(real == std::vector<float>{300.5F, -1.5F});
}

}  // namespace numpy_cast_test
