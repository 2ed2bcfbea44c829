// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/complex.hpp>

#include <doctest/doctest.h>

namespace complex_test {

namespace zp = zarrpoint;

TEST_CASE("complex: elements of their dtype, long double not") {
  static_assert(zp::element<std::complex<float>> && zp::element<std::complex<double>>);
  static_assert(!zp::element<std::complex<long double>>);
  CHECK(zp::dtype_of<std::complex<float>> == zp::dtype_kind::complex64);
  CHECK(zp::dtype_of<std::complex<double>> == zp::dtype_kind::complex128);
  CHECK(zp::dtype_of<std::complex<double>>.scalar_size() == sizeof(double));
}

}  // namespace complex_test
