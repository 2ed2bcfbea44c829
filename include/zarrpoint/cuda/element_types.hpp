// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The small floats of CUDA as element types: they are those of core/types/float_types.hpp, bit for
// bit.

#include <zarrpoint/core/types/dtype.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>
#if CUDART_VERSION >= 12080
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#endif

namespace zarrpoint { inline namespace v0 {

template <>
inline constexpr dtype dtype_of<__half> = dtype_kind::float16;
template <>
inline constexpr dtype dtype_of<__nv_bfloat16> = dtype_kind::bfloat16;
template <>
inline constexpr dtype dtype_of<__nv_fp8_e4m3> = dtype_kind::float8_e4m3fn;
template <>
inline constexpr dtype dtype_of<__nv_fp8_e5m2> = dtype_kind::float8_e5m2;
#if CUDART_VERSION >= 12080
template <>
inline constexpr dtype dtype_of<__nv_fp8_e8m0> = dtype_kind::float8_e8m0fnu;
template <>
inline constexpr dtype dtype_of<__nv_fp6_e2m3> = dtype_kind::float6_e2m3fn;
template <>
inline constexpr dtype dtype_of<__nv_fp6_e3m2> = dtype_kind::float6_e3m2fn;
template <>
inline constexpr dtype dtype_of<__nv_fp4_e2m1> = dtype_kind::float4_e2m1fn;
#endif

}}  // namespace zarrpoint::v0
