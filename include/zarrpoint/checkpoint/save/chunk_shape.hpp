// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>

#include <algorithm>
#include <cstdint>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What an inner chunk holds unless the caller says otherwise: big enough that a codec or a read
/// is worth its call, small enough to stay in a core's L2 cache between two passes.
inline constexpr std::uint64_t default_chunk_bytes = std::uint64_t{1} << 20;

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

/// The inner chunk of a tensor: a run of about `target` bytes that is contiguous in row-major
/// order, so that uncompressed inner chunks laid one after another are the tensor itself. The
/// leading axis is cut first, and need not divide evenly (only the last chunk is padded then); a
/// later axis is cut only into equal parts, since padding there would tear the run apart.
/// The spec must have passed `byte_count`.
dims contiguous_chunk_shape(const tensor_spec& spec, std::uint64_t target = default_chunk_bytes);

/// The chunk of a tensor in Zarr v2, where each chunk is an object of its own: all of it up to 64
/// MiB; of a larger one, equal runs of at most that where there are such, so that several workers
/// have something to do and none needs scratch memory of the size of the tensor.
dims whole_chunk_shape(const tensor_spec& spec);

/// Orbax's rule for `chunk_byte_size`: starting from `write_shape`, an axis goes to the next
/// smaller divisor of its write extent until the chunk has at most `target` bytes; first the axes
/// that are already cut (`write_shape` below `global_shape`), then all; each time the longest, the
/// first of equals. Errors: `invalid_argument` when `target` is below one element or the ranks
/// differ.
result<dims> greedy_chunk_shape(const tensor_spec& global, const dims& write_shape,
                                std::uint64_t target);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/save/impl/chunk_shape_impl.hpp>
#endif
