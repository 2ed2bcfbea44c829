// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the elements of a shard lie in its global tensor.

#include <zarrpoint/distributed/shard/shard_metadata.hpp>

namespace zarrpoint { inline namespace v0 {

/// What selects a shard along one axis of its global tensor: elements `[offset, offset + extent)`,
/// or, along a prepended axis, the one at `offset`, and the axis is dropped.
struct slice_part {
  index_t offset = 0;
  index_t extent = 1;
  bool is_index = false;

  friend bool operator==(const slice_part&, const slice_part&) = default;
};

/// One part for each axis of the global tensor; a flat range does not count. Errors:
/// `invalid_argument` where the ranks do not fit.
result<std::vector<slice_part>> global_slice(const shard_metadata& shard);

/// Which cell of the grid of shards this one is. Errors: `invalid_argument` for a shard that is in
/// no regular grid, or that is empty (then nothing tells which cell it is).
result<dims> chunk_offset_in_global(const shard_metadata& shard);

/// The largest chunks of the global tensor that no two shards share; rounded down where the stored
/// shape may be another. Errors: `invalid_argument` for an irregular grid, and for a global extent
/// that is not a multiple of its fragmentation.
result<dims> max_allowed_chunks(const shard_metadata& shard);

/// The coordinates, along each axis of the shard, of the elements of its flat range: what the local
/// tensor holds at `i` is the element `(out[0][i], out[1][i], ...)`. Takes `rank` numbers for each
/// element of the range, so a tool for small tensors; `flat_boxes` says the same in short. Errors:
/// those of `shard_metadata::check`, `invalid_argument` without a range.
result<std::vector<std::vector<index_t>>> local_coordinates(const shard_metadata& shard);

/// The same in the global tensor, with the prepended axes. Errors: the same.
result<std::vector<std::vector<index_t>>> global_coordinates(const shard_metadata& shard);

namespace detail {

/// The boxes that elements `range` of a row-major array of `shape` make up, in their order. They
/// are rows begun, whole rows, a row not finished, and so in each dimension, `2 * rank - 1` boxes
/// at most. What of the range is outside of the array is left out.
std::vector<box> flat_boxes(const dims& shape, const flat_range& range);

/// The boxes of the global tensor that the local tensor holds, in the order of its elements: the
/// shard, or those of its flat range. `shard.check()` must have passed.
std::vector<box> global_boxes(const shard_metadata& shard);

}  // namespace detail

}}  // namespace zarrpoint::v0
