// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/tensor_spec.hpp>

#include <algorithm>
#include <cstdint>

namespace zarrpoint::inline v0 {

/// What an inner chunk holds unless the caller says otherwise: big enough that a codec or a read
/// is worth its call, small enough to stay in a core's L2 cache between two passes.
inline constexpr std::uint64_t default_chunk_bytes = std::uint64_t{1} << 20;

namespace detail {

/// The largest divisor of `n` that is at most `limit` (1 when there is no other).
constexpr index_t largest_divisor(index_t n, index_t limit) noexcept {
  index_t best = 1;
  for (index_t d = 1; d <= n / d; ++d) {
    if (n % d != 0) continue;
    if (d <= limit) best = std::max(best, d);
    if (n / d <= limit) best = std::max(best, n / d);
  }
  return best;
}

}  // namespace detail

/// The inner chunk of a tensor: a run of about `target` bytes that is contiguous in row-major
/// order, so that uncompressed inner chunks laid one after another are the tensor itself. The
/// leading axis is cut first, and need not divide evenly (only the last chunk is padded then); a
/// later axis is cut only into equal parts, since padding there would tear the run apart.
/// The spec must have passed `byte_count`.
inline dims contiguous_chunk_shape(const tensor_spec& spec,
                                   std::uint64_t target = default_chunk_bytes) {
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

/// The chunk of a tensor in Zarr v2, where each chunk is an object of its own: all of it up to 64
/// MiB; of a larger one, equal runs of at most that where there are such, so that several workers
/// have something to do and none needs scratch memory of the size of the tensor.
inline dims whole_chunk_shape(const tensor_spec& spec) {
  dims chunk = contiguous_chunk_shape(spec, std::uint64_t{64} << 20);
  for (std::size_t i = 0; i < chunk.rank(); ++i) {
    if (chunk[i] >= spec.shape[i]) continue;
    chunk[i] = ceil_div(spec.shape[i], ceil_div(spec.shape[i], chunk[i]));  // little padding
  }
  return chunk;
}

/// Orbax's rule for `chunk_byte_size`: starting from `write_shape`, an axis goes to the next
/// smaller divisor of its write extent until the chunk has at most `target` bytes; first the axes
/// that are already cut (`write_shape` below `global_shape`), then all; each time the longest, the
/// first of equals. Errors: `invalid_argument` when `target` is below one element or the ranks
/// differ.
inline result<dims> greedy_chunk_shape(const tensor_spec& global, const dims& write_shape,
                                       std::uint64_t target) {
  const std::uint64_t element = std::max<std::uint64_t>(global.type.size(), 1);
  if (target < element)
    return error{errc::invalid_argument, "chunk_byte_size " + std::to_string(target) +
                                             " is below one element of " + std::to_string(element) +
                                             " bytes"};
  if (write_shape.rank() != global.shape.rank())
    return error{errc::invalid_argument, "write shape " + to_string(write_shape) +
                                             " for a tensor of shape " + to_string(global.shape)};
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

}  // namespace zarrpoint::inline v0
