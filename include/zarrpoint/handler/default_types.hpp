// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/types/complex.hpp>
#include <zarrpoint/core/types/float_types.hpp>
#include <zarrpoint/handler/registry.hpp>
#include <zarrpoint/handler/types/blob.hpp>

#include <complex>
#include <cstdint>

namespace zarrpoint { inline namespace v0 {

/// What a checkpoint's leaves become unless the caller names other types: scalars, strings and
/// blobs as they are, every array as a `tensor`. An array of rank 0 that others wrote is a scalar;
/// one of a rarer number, such as `int4`, is a `tensor`, too, until its type is added.
/// `default_types::with<bind<xt::xarray<float>>>` makes the float32 arrays xtensor's.
using default_types =
    registry<bind<bool>, bind<std::int8_t>, bind<std::int16_t>, bind<std::int32_t>,
             bind<std::int64_t>, bind<std::uint8_t>, bind<std::uint16_t>, bind<std::uint32_t>,
             bind<std::uint64_t>, bind<float8_e4m3fn>, bind<float8_e5m2>, bind<float16>,
             bind<bfloat16>, bind<float>, bind<double>, bind<std::complex<float>>,
             bind<std::complex<double>>, bind<std::string>, bind<json_text>, bind<byte_string>,
             bind<tensor>, restore_type<"scalar", tensor>>;

}}  // namespace zarrpoint::v0
