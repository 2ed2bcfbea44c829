// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>

#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// The local tensor is fragment `position` of `count` equal ones along `axis` of the global tensor.
struct axis_fragment {
  std::size_t axis = 0;  ///< the prepended axes count
  index_t position = 0;
  index_t count = 1;

  friend bool operator==(const axis_fragment&, const axis_fragment&) = default;
};

/// `"(0, 2, 6)"`.
std::string to_string(const axis_fragment& part);

/// How equal local tensors make up the global one. Axes that `offsets` does not name are whole.
struct sharding {
  std::vector<axis_fragment> offsets{};
  replica_id replica{};
  std::size_t prepended_axes = 0;
  bool allow_shape_mismatch = false;
};

/// The shard of which the local data are a flat piece.
struct flat_shard {
  dims local_shape;
  flat_range range;
};

/// The shard that a local tensor of type and shape `local` is. Only shards of one shape can be
/// told this way; others are `shard_metadata` with no fragmentation. Errors: `invalid_argument` for
/// a position outside of its count or an axis named twice, `out_of_range` for an axis that is not
/// there and for a global shape too large.
result<shard_metadata> from_rank_offsets(std::string key, const tensor_spec& local,
                                         const sharding& where);

/// The same where the local tensor `data`, of one dimension, is a piece of its shard flattened.
/// Errors also: `shape_mismatch` where `data` is not as long as the range, `out_of_range` where the
/// range leaves the shard, `invalid_argument` for a shard of rank 0, which cannot be divided.
result<shard_metadata> from_rank_offsets_flat(std::string key, const tensor_spec& data,
                                              const flat_shard& flat, const sharding& where);

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/shard/impl/rank_offsets_impl.hpp>
#endif
