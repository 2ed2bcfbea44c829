// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/float8_e8m0fnu.hpp>
#include <zarrpoint/core/types/float_bits.hpp>
#include <zarrpoint/core/types/float_types.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace zarrpoint { inline namespace v0 { namespace detail {

template <class T>
double value_of_bits(std::uint64_t bits) {
  return static_cast<double>(std::bit_cast<T>(static_cast<float_bits_type<T>>(bits)));
}

template <class T>
std::uint64_t bits_of_value(double value) {
  return std::bit_cast<float_bits_type<T>>(static_cast<T>(value));
}

ZARRPOINT_INLINE float_reader float_reader_of(const dtype& type) {
  return visit_float(type, []<class T>(T) -> float_reader { return &value_of_bits<T>; });
}

ZARRPOINT_INLINE float_writer float_writer_of(const dtype& type) {
  return visit_float(type, []<class T>(T) -> float_writer { return &bits_of_value<T>; });
}

ZARRPOINT_INLINE std::uint64_t float_bits(const dtype& type, double value) {
  return float_writer_of(type)(value);
}

ZARRPOINT_INLINE double float_value(const dtype& type, std::uint64_t bits) {
  return float_reader_of(type)(bits);
}

ZARRPOINT_INLINE bool has_nan(const dtype& type) {
  return visit_float(type, []<class T>(T) { return std::numeric_limits<T>::has_quiet_NaN; });
}

ZARRPOINT_INLINE bool has_infinity(const dtype& type) {
  return visit_float(type, []<class T>(T) { return std::numeric_limits<T>::has_infinity; });
}

ZARRPOINT_INLINE std::uint64_t nan_bits(const dtype& type) {
  return visit_float(type, []<class T>(T) -> std::uint64_t {
    return std::bit_cast<float_bits_type<T>>(std::numeric_limits<T>::quiet_NaN());
  });
}

}}}  // namespace zarrpoint::v0::detail
