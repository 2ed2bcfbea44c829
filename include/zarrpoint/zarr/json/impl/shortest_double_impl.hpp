// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/zarr/json/shortest_double.hpp>

#include <array>
#include <cfloat>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE void decimal_digits::drop_zeros() noexcept {
  while (size > 1 && text[size - 1] == '0') --size;
}

ZARRPOINT_INLINE void decimal_digits::increment() noexcept {
  std::size_t i = size;
  while (i > 0 && text[i - 1] == '9') --i;
  size = i;
  if (i > 0) {
    ++text[i - 1];
  } else {
    text[size++] = '1';
    ++exponent;
  }
}

ZARRPOINT_INLINE double decimal_digits::read_back() const noexcept {
  std::array<char, 40> number{};
  std::snprintf(number.data(), number.size(), "%.*se%d", static_cast<int>(size), text.data(),
                exponent - static_cast<int>(size) + 1);
  return std::strtod(number.data(), nullptr);
}

/// The `count` leading digits of `magnitude`, correctly rounded.
ZARRPOINT_INLINE decimal_digits rounded_digits(double magnitude, int count) noexcept {
  std::array<char, 40> number{};  // d.ddde-308
  std::snprintf(number.data(), number.size(), "%.*e", count - 1, magnitude);
  decimal_digits out;
  const char* at = number.data();
  for (; *at != 'e'; ++at) {
    if (*at >= '0' && *at <= '9') out.text[out.size++] = *at;
  }
  out.exponent = std::atoi(at + 1);
  return out;
}

ZARRPOINT_INLINE decimal_digits shortest_digits(double magnitude) noexcept {
  // A normal number that has 15 digits or fewer is what its first 15 say.
  const int first = magnitude < DBL_MIN ? 1 : DBL_DIG;
  for (int count = first;; ++count) {
    decimal_digits out = rounded_digits(magnitude, count);
    if (out.read_back() != magnitude && count < DBL_DECIMAL_DIG) {
      // Above a power of two there is twice the room as below it.
      out.increment();
      if (out.read_back() != magnitude) continue;
    }
    out.drop_zeros();
    return out;
  }
}

}}}  // namespace zarrpoint::v0::detail
