// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/complex.hpp>
#include <zarrpoint/core/float_types.hpp>
#include <zarrpoint/handler/blob.hpp>
#include <zarrpoint/handler/registry.hpp>

#include <complex>
#include <cstdint>
#include <string>

namespace zarrpoint::inline v0 {

/// What a checkpoint's leaves become unless the caller names other types: scalars, strings and
/// blobs as they are, every array as a `tensor`. An array of rank 0 that others wrote is a scalar.
/// `default_types::with<bind<xt::xarray<float>>>` makes the float32 arrays xtensor's.
using default_types =
    registry_of<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                std::uint16_t, std::uint32_t, std::uint64_t, float8_e4m3fn, float8_e5m2, float16,
                bfloat16, float, double, std::complex<float>, std::complex<double>, std::string,
                json_text, byte_string, tensor>;

}  // namespace zarrpoint::inline v0
