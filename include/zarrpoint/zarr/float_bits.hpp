// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/dtype.hpp>
#include <zarrpoint/core/float_types.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

// Floats of a dtype known at run time, as their bits: what fill values need and no more.
namespace zarrpoint::inline v0::detail {

/// `f(T{})` for the C++ type of a floating `type`.
template <class F>
auto visit_float(dtype type, F f) {
  switch (type.kind()) {
    case dtype_kind::float8_e4m3fn: return f(float8_e4m3fn{});
    case dtype_kind::float8_e5m2: return f(float8_e5m2{});
    case dtype_kind::float16: return f(float16{});
    case dtype_kind::bfloat16: return f(bfloat16{});
    case dtype_kind::float32: return f(float{});
    default: return f(double{});
  }
}

template <class T>
using float_bits_type = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

/// `value` rounded once to nearest, ties to even; what is too large becomes infinity, or NaN in a
/// type without.
inline std::uint64_t float_bits(dtype type, double value) {
  return visit_float(type, [value]<class T>(T) -> std::uint64_t {
    return std::bit_cast<float_bits_type<T>>(static_cast<T>(value));
  });
}

/// The float with these bits as a double, exactly.
inline double float_value(dtype type, std::uint64_t bits) {
  return visit_float(type, [bits]<class T>(T) -> double {
    return static_cast<double>(std::bit_cast<T>(static_cast<float_bits_type<T>>(bits)));
  });
}

/// The bits that "NaN" stands for (Zarr v3 data types, and ml_dtypes for the small ones).
inline std::uint64_t nan_bits(dtype type) {
  return visit_float(type, []<class T>(T) -> std::uint64_t {
    return std::bit_cast<float_bits_type<T>>(std::numeric_limits<T>::quiet_NaN());
  });
}

}  // namespace zarrpoint::inline v0::detail
