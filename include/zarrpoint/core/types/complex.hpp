// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/types/dtype.hpp>

#include <complex>

namespace zarrpoint { inline namespace v0 {

// A header of its own: <complex> is expensive, and most checkpoints have none.

template <>
inline constexpr dtype dtype_of<std::complex<float>> = dtype_kind::complex64;
template <>
inline constexpr dtype dtype_of<std::complex<double>> = dtype_kind::complex128;

}}  // namespace zarrpoint::v0
