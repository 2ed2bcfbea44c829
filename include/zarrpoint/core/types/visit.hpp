// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/types/complex.hpp>
#include <zarrpoint/core/types/small_complex.hpp>
#include <zarrpoint/core/types/small_int.hpp>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// `visit_dtype` of a bool, an integer or a real float, for kernels, too.
template <class F>
constexpr decltype(auto) visit_real(dtype_kind kind, F&& f) {
  switch (kind) {
    case dtype_kind::bool_: return f.template operator()<bool>();
    case dtype_kind::int2: return f.template operator()<int2>();
    case dtype_kind::int4: return f.template operator()<int4>();
    case dtype_kind::int8: return f.template operator()<std::int8_t>();
    case dtype_kind::int16: return f.template operator()<std::int16_t>();
    case dtype_kind::int32: return f.template operator()<std::int32_t>();
    case dtype_kind::int64: return f.template operator()<std::int64_t>();
    case dtype_kind::uint2: return f.template operator()<uint2>();
    case dtype_kind::uint4: return f.template operator()<uint4>();
    case dtype_kind::uint8: return f.template operator()<std::uint8_t>();
    case dtype_kind::uint16: return f.template operator()<std::uint16_t>();
    case dtype_kind::uint32: return f.template operator()<std::uint32_t>();
    case dtype_kind::uint64: return f.template operator()<std::uint64_t>();
    case dtype_kind::float4_e2m1fn: return f.template operator()<float4_e2m1fn>();
    case dtype_kind::float6_e2m3fn: return f.template operator()<float6_e2m3fn>();
    case dtype_kind::float6_e3m2fn: return f.template operator()<float6_e3m2fn>();
    case dtype_kind::float8_e3m4: return f.template operator()<float8_e3m4>();
    case dtype_kind::float8_e4m3: return f.template operator()<float8_e4m3>();
    case dtype_kind::float8_e4m3fn: return f.template operator()<float8_e4m3fn>();
    case dtype_kind::float8_e4m3b11fnuz: return f.template operator()<float8_e4m3b11fnuz>();
    case dtype_kind::float8_e4m3fnuz: return f.template operator()<float8_e4m3fnuz>();
    case dtype_kind::float8_e5m2: return f.template operator()<float8_e5m2>();
    case dtype_kind::float8_e5m2fnuz: return f.template operator()<float8_e5m2fnuz>();
    case dtype_kind::float8_e8m0fnu: return f.template operator()<float8_e8m0fnu>();
    case dtype_kind::float16: return f.template operator()<float16>();
    case dtype_kind::bfloat16: return f.template operator()<bfloat16>();
    case dtype_kind::float32: return f.template operator()<float>();
    case dtype_kind::float64: return f.template operator()<double>();
    default: break;
  }
  __builtin_unreachable();
}

}  // namespace detail

/// Calls `f.template operator()<T>()` for the element type `T` that stands for `type`, and returns
/// what it returns, which is one type for all. `type` is a number.
template <class F>
constexpr decltype(auto) visit_dtype(const dtype& type, F&& f) {
  ZARRPOINT_ASSERT(type.is_number());
  switch (type.kind()) {
    case dtype_kind::complex_float4_e2m1fn: return f.template operator()<complex_float4_e2m1fn>();
    case dtype_kind::complex_float6_e2m3fn: return f.template operator()<complex_float6_e2m3fn>();
    case dtype_kind::complex_float6_e3m2fn: return f.template operator()<complex_float6_e3m2fn>();
    case dtype_kind::complex_float8_e3m4: return f.template operator()<complex_float8_e3m4>();
    case dtype_kind::complex_float8_e4m3: return f.template operator()<complex_float8_e4m3>();
    case dtype_kind::complex_float8_e4m3fn: return f.template operator()<complex_float8_e4m3fn>();
    case dtype_kind::complex_float8_e4m3b11fnuz:
      return f.template operator()<complex_float8_e4m3b11fnuz>();
    case dtype_kind::complex_float8_e4m3fnuz:
      return f.template operator()<complex_float8_e4m3fnuz>();
    case dtype_kind::complex_float8_e5m2: return f.template operator()<complex_float8_e5m2>();
    case dtype_kind::complex_float8_e5m2fnuz:
      return f.template operator()<complex_float8_e5m2fnuz>();
    case dtype_kind::complex_float8_e8m0fnu: return f.template operator()<complex_float8_e8m0fnu>();
    case dtype_kind::complex_float16: return f.template operator()<complex_float16>();
    case dtype_kind::complex_bfloat16: return f.template operator()<complex_bfloat16>();
    case dtype_kind::complex64: return f.template operator()<std::complex<float>>();
    case dtype_kind::complex128: return f.template operator()<std::complex<double>>();
    default: return detail::visit_real(type.kind(), f);
  }
}

}}  // namespace zarrpoint::v0
