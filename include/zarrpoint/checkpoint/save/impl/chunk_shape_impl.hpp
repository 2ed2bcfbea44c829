// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/save/chunk_shape.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>

#include <algorithm>
#include <cstdint>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE dims contiguous_chunk_shape(const tensor_spec& spec, std::uint64_t target) {
  dims chunk = spec.shape;
  for (index_t& extent : chunk) extent = std::max<index_t>(extent, 1);
  const std::uint64_t element = std::max<std::uint64_t>(spec.type.size(), 1);
  std::uint64_t inner = element;  // bytes of everything after the axis being looked at
  std::size_t axis = chunk.rank();
  while (axis > 0) {
    const std::uint64_t with_axis = inner * static_cast<std::uint64_t>(chunk[axis - 1]);
    if (with_axis > target) break;
    inner = with_axis;
    --axis;
  }
  if (axis == 0) return chunk;  // all of it fits
  --axis;
  const index_t limit = static_cast<index_t>(std::max<std::uint64_t>(target / inner, 1));
  const bool leading =
      std::all_of(chunk.begin(), chunk.begin() + axis, [](index_t n) { return n == 1; });
  index_t length =
      leading ? std::min(limit, chunk[axis]) : detail::largest_divisor(chunk[axis], limit);
  // An axis without a useful divisor stays whole: chunks above the target beat thousands of tiny
  // ones.
  if (!leading && static_cast<std::uint64_t>(length) * inner < target / 8) length = chunk[axis];
  chunk[axis] = length;
  for (std::size_t i = 0; i < axis; ++i) chunk[i] = 1;
  return chunk;
}

ZARRPOINT_INLINE dims whole_chunk_shape(const tensor_spec& spec) {
  dims chunk = contiguous_chunk_shape(spec, std::uint64_t{64} << 20);
  for (std::size_t i = 0; i < chunk.rank(); ++i) {
    if (chunk[i] >= spec.shape[i]) continue;
    chunk[i] = ceil_div(spec.shape[i], ceil_div(spec.shape[i], chunk[i]));  // little padding
  }
  return chunk;
}

ZARRPOINT_INLINE result<dims> greedy_chunk_shape(const tensor_spec& global, const dims& write_shape,
                                                 std::uint64_t target) {
  const std::uint64_t element = std::max<std::uint64_t>(global.type.size(), 1);
  if (target < element)
    return error{errc::invalid_argument, "chunk_byte_size " + std::to_string(target) +
                                             " is less than one element, which takes " +
                                             std::to_string(element) + " bytes"};
  if (write_shape.rank() != global.shape.rank())
    return error{errc::invalid_argument, "write shape " + to_string(write_shape) +
                                             " must have the same rank as the tensor of shape " +
                                             to_string(global.shape)};
  dims chunk = write_shape;
  for (index_t& extent : chunk) extent = std::max<index_t>(extent, 1);
  ZARRPOINT_TRY(elements, element_count(chunk));
  std::uint64_t count = static_cast<std::uint64_t>(elements);
  const dims whole = chunk;
  while (count > target / element) {
    std::size_t longest = chunk.rank();
    for (const bool only_cut : {true, false}) {
      for (std::size_t i = 0; i < chunk.rank(); ++i) {
        if (chunk[i] == 1 || (only_cut && write_shape[i] == global.shape[i])) continue;
        if (longest == chunk.rank() || chunk[i] > chunk[longest]) longest = i;
      }
      if (longest != chunk.rank()) break;
    }
    if (longest == chunk.rank()) break;
    const index_t smaller = detail::largest_divisor(whole[longest], chunk[longest] - 1);
    count =
        count / static_cast<std::uint64_t>(chunk[longest]) * static_cast<std::uint64_t>(smaller);
    chunk[longest] = smaller;
  }
  return chunk;
}

}}}  // namespace zarrpoint::v0::detail
