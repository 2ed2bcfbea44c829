// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/types/float_bits.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

// The arithmetic of NumPy, which the filters of numcodecs are defined by.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// Whether NumPy itself has the number type.
bool is_numpy_number(const dtype& type);

dtype float_of_size(std::size_t bytes);
dtype integer_of_size(bool is_signed, std::size_t bytes);

/// The type in which NumPy adds numbers of these types.
dtype promote(const dtype& a, const dtype& b);

/// A float as an integer as NumPy makes it on common processors: truncated, and the lowest bits of
/// what is too large; no value is undefined.
template <class To>
To numpy_truncate(double value) {
  constexpr double two31 = 0x1p31;
  constexpr double two63 = 0x1p63;
  if constexpr (sizeof(To) < 8 && !std::same_as<To, std::uint32_t>) {
    const bool fits = value > -two31 - 1 && value < two31;
    return static_cast<To>(fits ? static_cast<std::int32_t>(value) : INT32_MIN);
  } else if constexpr (std::same_as<To, std::uint32_t>) {
    if (value >= 2 * two31) return 0;
    return static_cast<To>(value > -two31 - 1 ? static_cast<std::int64_t>(value) : INT32_MIN);
  } else if constexpr (std::same_as<To, std::int64_t>) {
    return value >= -two63 && value < two63 ? static_cast<To>(value) : INT64_MIN;
  } else {
    if (value >= 2 * two63) return 0;
    if (value >= two63) return static_cast<To>(value);
    return static_cast<To>(value >= -two63 ? static_cast<std::int64_t>(value) : INT64_MIN);
  }
}

/// Casts dense runs of equal length as NumPy's `astype` does.
result<void> numpy_cast(const mutable_host_view& to, const host_view& from);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/kit/impl/numpy_cast_impl.hpp>
#endif
