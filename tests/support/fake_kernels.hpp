// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/device/device_space.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

// What the kernels of a device mean, as plain loops over memory of the host.

namespace zarrpoint_test {

namespace zp = zarrpoint;

/// How often each was asked for.
struct kernel_counts {
  std::uint64_t move = 0;
  std::uint64_t scatter = 0;
  std::uint64_t cast = 0;
  std::uint64_t swap_bytes = 0;
  std::uint64_t unshuffle = 0;
  std::uint64_t crc32c = 0;
};

/// The bytes that strided elements touch: `bytes` of them, `low` from the first element on.
struct strided_reach {
  std::ptrdiff_t low = 0;
  std::size_t bytes = 0;
};
inline strided_reach reach_of_strides(const zp::dims& shape, const zp::dims& strides,
                                      std::size_t size) {
  strided_reach out;
  std::ptrdiff_t high = static_cast<std::ptrdiff_t>(size);
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 0) return {};
    const std::ptrdiff_t reach = (shape[i] - 1) * strides[i];
    (reach < 0 ? out.low : high) += reach;
  }
  out.bytes = static_cast<std::size_t>(high - out.low);
  return out;
}

inline void run_move(const zp::strided_move& m) {
  for (const zp::index_t extent : m.shape) {
    if (extent == 0) return;
  }
  zp::dims at(m.shape.rank(), 0);
  for (;;) {
    std::ptrdiff_t to = 0;
    std::ptrdiff_t from = 0;
    for (std::size_t i = 0; i < at.rank(); ++i) {
      to += at[i] * m.to_strides[i];
      from += at[i] * m.from_strides[i];
    }
    std::memcpy(m.to + to, m.from + from, m.element_size);
    std::size_t i = at.rank();
    while (i > 0 && ++at[i - 1] == m.shape[i - 1]) at[--i] = 0;
    if (i == 0) return;
  }
}

inline zp::result<void> run_cast(const zp::device_cast& c) {
  const zp::dims shape = {static_cast<zp::index_t>(c.count)};
  return zp::detail::cast_elements(zp::dense_view(c.to, {c.to_type, shape}),
                                   zp::dense_view(c.from, {c.from_type, shape}));
}

inline void run_swap_bytes(std::byte* data, std::size_t size, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) std::reverse(data + i * size, data + (i + 1) * size);
}

/// Byte `b` of element `i` lies at `b * count + i`.
inline void run_unshuffle(std::byte* to, const std::byte* from, std::size_t size,
                          std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < size; ++b) to[i * size + b] = from[b * count + i];
  }
}

inline void run_crc32c(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::uint32_t state = 0xffffffffu;
  for (std::size_t i = 0; i < bytes; ++i) {
    state ^= static_cast<std::uint32_t>(from[i]);
    for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ (state & 1 ? 0x82f63b78u : 0);
  }
  zp::store_le<std::uint32_t>(to, ~state);
}

}  // namespace zarrpoint_test
