// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE std::string to_string(const dims& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.rank(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(values[i]);
  }
  return text += ']';
}

ZARRPOINT_INLINE result<index_t> element_count(const dims& shape) {
  index_t count = 1;
  bool has_zero = false;
  bool overflow = false;
  for (const index_t extent : shape) {
    if (extent < 0)
      return error{errc::out_of_range, "negative extent in shape " + to_string(shape)};
    has_zero = has_zero || extent == 0;
    overflow = __builtin_mul_overflow(count, extent, &count) || overflow;
  }
  if (has_zero) return index_t{0};
  if (overflow)
    return error{errc::out_of_range, "shape " + to_string(shape) + " has 2^63 elements or more"};
  return count;
}

ZARRPOINT_INLINE result<std::size_t> byte_count(const dims& shape, std::size_t element_size) {
  ZARRPOINT_TRY(count, element_count(shape));
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(count), element_size, &bytes) ||
      bytes > static_cast<std::size_t>(PTRDIFF_MAX))
    return error{errc::out_of_range, "shape " + to_string(shape) + " does not fit in memory"};
  return bytes;
}

ZARRPOINT_INLINE dims row_major_strides(const dims& shape, std::size_t element_size) {
  dims strides(shape.rank(), 0);
  // Unsigned, since the extents beside a 0 may be as large as a file likes to say; nothing is ever
  // addressed then.
  std::uint64_t stride = element_size;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    strides[i] = static_cast<index_t>(stride);
    stride *= static_cast<std::uint64_t>(std::max<index_t>(shape[i], 1));
  }
  return strides;
}

}}  // namespace zarrpoint::v0
