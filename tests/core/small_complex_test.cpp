// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/small_complex.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace small_complex_test {

namespace zp = zarrpoint;

TEST_CASE_TEMPLATE("small complex numbers: elements of their dtype, real part first", T,
                   zp::complex_float16, zp::complex_bfloat16, zp::complex_float8_e3m4,
                   zp::complex_float8_e4m3, zp::complex_float8_e4m3fn,
                   zp::complex_float8_e4m3b11fnuz, zp::complex_float8_e4m3fnuz,
                   zp::complex_float8_e5m2, zp::complex_float8_e5m2fnuz, zp::complex_float8_e8m0fnu,
                   zp::complex_float6_e2m3fn, zp::complex_float6_e3m2fn,
                   zp::complex_float4_e2m1fn) {
  using part = typename T::value_type;
  static_assert(zp::element<T> && std::is_trivial_v<T>);
  CHECK(zp::dtype_of<T>.is_complex());
  CHECK(zp::dtype_of<T>.component() == zp::dtype_of<part>);
  const T value(part(1), part(2));
  CHECK(value.real() == part(1));
  CHECK(value.imag() == part(2));
  CHECK(value == T(part(1), part(2)));
  CHECK(value != T(part(2), part(2)));
  CHECK(value != T(part(1), part(1)));
  CHECK(to_string(value) == "(1,2)");
}

TEST_CASE("small complex numbers: bytes") {
  const zp::complex_float8_e5m2 value(zp::float8_e5m2(1), zp::float8_e5m2(-2));
  CHECK(std::bit_cast<std::uint16_t>(value) ==
        (std::endian::native == std::endian::little ? 0xc03c : 0x3cc0));
}

}  // namespace small_complex_test
