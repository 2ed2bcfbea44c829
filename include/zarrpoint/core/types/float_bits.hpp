// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/types/float8_e8m0fnu.hpp>

// Floats of a dtype known at run time, as their bits: what fill values and rare casts need.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// `f(T{})` for the C++ type of a floating `type`.
template <class F>
auto visit_float(const dtype& type, F f) {
  switch (type.kind()) {
    case dtype_kind::float4_e2m1fn: return f(float4_e2m1fn{});
    case dtype_kind::float6_e2m3fn: return f(float6_e2m3fn{});
    case dtype_kind::float6_e3m2fn: return f(float6_e3m2fn{});
    case dtype_kind::float8_e3m4: return f(float8_e3m4{});
    case dtype_kind::float8_e4m3: return f(float8_e4m3{});
    case dtype_kind::float8_e4m3fn: return f(float8_e4m3fn{});
    case dtype_kind::float8_e4m3b11fnuz: return f(float8_e4m3b11fnuz{});
    case dtype_kind::float8_e4m3fnuz: return f(float8_e4m3fnuz{});
    case dtype_kind::float8_e5m2: return f(float8_e5m2{});
    case dtype_kind::float8_e5m2fnuz: return f(float8_e5m2fnuz{});
    case dtype_kind::float8_e8m0fnu: return f(float8_e8m0fnu{});
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

using float_reader = double (*)(std::uint64_t bits);
using float_writer = std::uint64_t (*)(double value);

/// What gives the float with some bits as a double, exactly.
float_reader float_reader_of(const dtype& type);
/// What rounds once to nearest, ties to even, and gives the bits. What is too large becomes
/// infinity, or NaN in a type without, or the largest number in one without either.
float_writer float_writer_of(const dtype& type);

std::uint64_t float_bits(const dtype& type, double value);
double float_value(const dtype& type, std::uint64_t bits);

bool has_nan(const dtype& type);
bool has_infinity(const dtype& type);

/// The bits that "NaN" stands for (Zarr v3 data types, and ml_dtypes for float8_e4m3fn); 0 for a
/// type that has no NaN.
std::uint64_t nan_bits(const dtype& type);

}}}  // namespace zarrpoint::v0::detail
