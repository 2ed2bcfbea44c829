// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/float_bits.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

using namespace zarrpoint;

TEST_CASE("NaN has the bits that the specification names") {
  const std::pair<dtype_kind, std::uint64_t> table[] = {
      {dtype_kind::float8_e4m3fn, 0x7f}, {dtype_kind::float8_e5m2, 0x7e},
      {dtype_kind::float16, 0x7e00},     {dtype_kind::bfloat16, 0x7fc0},
      {dtype_kind::float32, 0x7fc00000}, {dtype_kind::float64, 0x7ff8000000000000},
  };
  for (const auto& [kind, bits] : table) {
    CHECK(detail::nan_bits(kind) == bits);
    CHECK(std::isnan(detail::float_value(kind, bits)));
  }
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
  for (const dtype_kind kind : {dtype_kind::float8_e4m3fn, dtype_kind::float8_e5m2,
                                dtype_kind::float16, dtype_kind::bfloat16}) {
    const std::uint64_t count = std::uint64_t{1} << (8 * dtype(kind).size());
    for (std::uint64_t bits = 0; bits < count; ++bits) {
      const double value = detail::float_value(kind, bits);
      if (!std::isnan(value) && detail::float_bits(kind, value) != bits) FAIL_CHECK(bits);
    }
  }
}
