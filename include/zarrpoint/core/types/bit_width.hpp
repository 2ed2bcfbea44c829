// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// `std::bit_width` by halves: on a host or on a device.
constexpr int bit_width_by_halves(std::uint64_t value) noexcept {
  int width = 0;
  for (int half = 32; half != 0; half /= 2) {
    if (value >> half == 0) continue;
    value >>= half;
    width += half;
  }
  return width + (value != 0 ? 1 : 0);
}

/// The bits that a number needs, 0 for 0. In a kernel, nvcc 13.0 compiles `std::bit_width` to a
/// constant and says nothing: the builtin behind it exists on the host alone.
constexpr int bit_width(std::uint64_t value) noexcept {
#ifdef __CUDA_ARCH__
  return bit_width_by_halves(value);
#else
  return static_cast<int>(std::bit_width(value));
#endif
}

}}}  // namespace zarrpoint::v0::detail
