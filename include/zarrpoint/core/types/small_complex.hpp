// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/types/float8_e8m0fnu.hpp>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// The complex type with parts of that floating type.
constexpr dtype complex_of(const dtype& part) noexcept {
  for (const dtype_kind kind : all_dtype_kinds) {
    if (dtype(kind).is_complex() && dtype(kind).component() == part) return kind;
  }
  return {};
}

}  // namespace detail

/// A complex number whose parts are small floats, which `std::complex` is not made for. It holds
/// numbers and does no arithmetic. It is not initialised by default.
template <class T>
struct small_complex {
  using value_type = T;

  T re;
  T im;

  small_complex() = default;
  constexpr small_complex(T real, T imaginary) noexcept : re(real), im(imaginary) {}

  constexpr T real() const noexcept { return re; }
  constexpr T imag() const noexcept { return im; }

  friend constexpr bool operator==(const small_complex& a, const small_complex& b) noexcept {
    return a.re == b.re && a.im == b.im;
  }
};

using complex_float16 = small_complex<float16>;              ///< two of `float16`
using complex_bfloat16 = small_complex<bfloat16>;            ///< two of `bfloat16`
using complex_float8_e3m4 = small_complex<float8_e3m4>;      ///< two of `float8_e3m4`
using complex_float8_e4m3 = small_complex<float8_e4m3>;      ///< two of `float8_e4m3`
using complex_float8_e4m3fn = small_complex<float8_e4m3fn>;  ///< two of `float8_e4m3fn`
using complex_float8_e4m3b11fnuz =
    small_complex<float8_e4m3b11fnuz>;                           ///< two of `float8_e4m3b11fnuz`
using complex_float8_e4m3fnuz = small_complex<float8_e4m3fnuz>;  ///< two of `float8_e4m3fnuz`
using complex_float8_e5m2 = small_complex<float8_e5m2>;          ///< two of `float8_e5m2`
using complex_float8_e5m2fnuz = small_complex<float8_e5m2fnuz>;  ///< two of `float8_e5m2fnuz`
using complex_float8_e8m0fnu = small_complex<float8_e8m0fnu>;    ///< two of `float8_e8m0fnu`
using complex_float6_e2m3fn = small_complex<float6_e2m3fn>;      ///< two of `float6_e2m3fn`
using complex_float6_e3m2fn = small_complex<float6_e3m2fn>;      ///< two of `float6_e3m2fn`
using complex_float4_e2m1fn = small_complex<float4_e2m1fn>;      ///< two of `float4_e2m1fn`

template <class T>
inline constexpr dtype dtype_of<small_complex<T>> = detail::complex_of(dtype_of<T>);

/// As streams write a `std::complex`, e.g. `"(1.5,-2)"`.
template <class T>
std::string to_string(const small_complex<T>& value) {
  return "(" + to_string(value.re) + "," + to_string(value.im) + ")";
}

}}  // namespace zarrpoint::v0
