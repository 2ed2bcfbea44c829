// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace zarrpoint_test {

namespace zp = zarrpoint;
using random_source = std::mt19937_64;

/// A number of [0, below).
inline std::size_t pick(random_source& random, std::size_t below) {
  return static_cast<std::size_t>(random() % below);
}

/// A shape of a rank up to `max_rank`, now and then with an extent of 0.
inline zp::dims random_shape(random_source& random, std::size_t max_rank, std::size_t max_extent) {
  zp::dims shape;
  const std::size_t rank = pick(random, max_rank + 1);
  for (std::size_t i = 0; i < rank; ++i) {
    const bool is_empty = pick(random, 40) == 0;
    shape.push_back(is_empty ? 0 : static_cast<zp::index_t>(1 + pick(random, max_extent)));
  }
  return shape;
}

/// Where the elements of a shape lie in `size` bytes: distinct places in random order of the axes,
/// with gaps and negative strides; with `broadcast` also axes of stride 0.
struct layout {
  zp::dims strides;
  std::size_t first = 0;  ///< offset of element (0, ..., 0)
  std::size_t size = 0;
};

inline layout random_layout(random_source& random, const zp::dims& shape, std::size_t element,
                            bool broadcast = false) {
  std::vector<std::size_t> order(shape.rank());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (pick(random, 2) == 0) std::shuffle(order.begin(), order.end(), random);
  const bool has_gaps = pick(random, 2) == 0;
  const bool has_negatives = pick(random, 3) == 0;
  layout out{zp::dims(shape.rank(), 0), 0, 0};
  std::size_t unit = element;
  std::size_t last = 0;
  for (std::size_t k = order.size(); k-- > 0;) {
    const std::size_t axis = order[k];
    if (has_gaps && pick(random, 2) == 0) unit += element * pick(random, 3) + pick(random, 2);
    const auto extent = static_cast<std::size_t>(std::max<zp::index_t>(shape[axis], 1));
    if (broadcast && pick(random, 4) == 0) continue;
    const bool is_negative = has_negatives && pick(random, 2) == 0;
    const auto stride = static_cast<zp::index_t>(unit);
    out.strides[axis] = is_negative ? -stride : stride;
    if (is_negative) out.first += unit * (extent - 1);
    last += unit * (extent - 1);
    unit *= extent;
  }
  out.size = last + element;
  return out;
}

/// Calls `f(coordinate)` for every element of a shape, in row-major order: the naive reference.
template <class F>
void for_each_coordinate(const zp::dims& shape, F&& f) {
  if (std::any_of(shape.begin(), shape.end(), [](zp::index_t n) { return n == 0; })) return;
  zp::dims at(shape.rank(), 0);
  while (true) {
    f(static_cast<const zp::dims&>(at));
    std::size_t i = shape.rank();
    while (i > 0 && ++at[i - 1] == shape[i - 1]) at[--i] = 0;
    if (i == 0) return;
  }
}

/// Bytes from element (0, ..., 0) to the one at `at`.
/// Compiled apart, and optimised, as the next three are: half the time of many tests.
zp::index_t offset_of(const zp::dims& at, const zp::dims& strides);

/// Bytes on the heap of exactly that many, so that a sanitizer sees every step outside.
std::vector<std::byte> random_bytes(random_source& random, std::size_t size);

/// The first `size` bytes of a seed.
void fill_random(std::byte* data, std::size_t size, unsigned seed);

/// Whether two tensors have the same dtype, shape and elements, bit for bit.
bool same_elements(const zp::host_view& a, const zp::host_view& b);

}  // namespace zarrpoint_test
