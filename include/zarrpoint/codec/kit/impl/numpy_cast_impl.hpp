// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/numpy_cast.hpp>
#include <zarrpoint/core/types/float_bits.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/memory/byteswap.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE bool is_numpy_number(const dtype& type) {
  if (!type.is_number() || type.is_below_byte()) return false;
  if (type == dtype_kind::bfloat16) return false;
  return type.is_complex() ? type.size() >= 8 : !type.is_floating() || type.size() >= 2;
}

ZARRPOINT_INLINE dtype float_of_size(std::size_t bytes) {
  if (bytes <= 2) return dtype_kind::float16;
  return bytes <= 4 ? dtype_kind::float32 : dtype_kind::float64;
}

ZARRPOINT_INLINE dtype integer_of_size(bool is_signed, std::size_t bytes) {
  switch (bytes) {
    case 1: return is_signed ? dtype_kind::int8 : dtype_kind::uint8;
    case 2: return is_signed ? dtype_kind::int16 : dtype_kind::uint16;
    case 4: return is_signed ? dtype_kind::int32 : dtype_kind::uint32;
    default: return is_signed ? dtype_kind::int64 : dtype_kind::uint64;
  }
}

/// The float that holds a number of `type` in arithmetic with other floats.
ZARRPOINT_INLINE dtype least_float(const dtype& type) {
  if (type.is_floating()) return type;
  if (type == dtype_kind::bool_) return dtype_kind::float16;
  return float_of_size(2 * type.size());
}

ZARRPOINT_INLINE dtype promote(const dtype& a, const dtype& b) {
  if (a == b) return a;
  if (a.is_complex() || b.is_complex()) {
    const dtype part = promote(least_float(a.component()), least_float(b.component()));
    return part == dtype_kind::float64 ? dtype_kind::complex128 : dtype_kind::complex64;
  }
  if (a == dtype_kind::bool_) return b;
  if (b == dtype_kind::bool_) return a;
  if (a.is_floating() || b.is_floating())
    return float_of_size(std::max(least_float(a).size(), least_float(b).size()));
  const std::size_t widest = std::max(a.size(), b.size());
  if (a.is_signed_integer() == b.is_signed_integer())
    return integer_of_size(a.is_signed_integer(), widest);
  const std::size_t natural = a.is_signed_integer() ? b.size() : a.size();
  if (natural < widest) return integer_of_size(true, widest);
  return widest == 8 ? dtype(dtype_kind::float64) : integer_of_size(true, 2 * widest);
}

ZARRPOINT_INLINE result<void> numpy_cast(const mutable_host_view& to, const host_view& from) {
  const bool from_float = from.type.is_floating() || from.type.is_complex();
  if (!from_float || !to.type.is_integer()) return cast_elements(to, from);
  const std::size_t part = from.type.scalar_size();
  const float_reader read = float_reader_of(from.type.component());
  const auto count = static_cast<std::size_t>(element_count(from.shape).value_or(0));
  const auto convert_all = [&]<class T>() {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t bits = 0;
      const std::size_t skip = native_endian == endian::little ? 0 : sizeof bits - part;
      std::memcpy(reinterpret_cast<std::byte*>(&bits) + skip, from.data + i * from.type.size(),
                  part);
      const T value = numpy_truncate<T>(read(bits));
      std::memcpy(to.data + i * sizeof(T), &value, sizeof(T));
    }
  };
  visit_common(to.type.kind(), [&]<class T>() {
    if constexpr (std::integral<T> && !std::same_as<T, bool>) convert_all.template operator()<T>();
  });
  return {};
}

}}}  // namespace zarrpoint::v0::detail
