// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/shard/rank_offsets.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>

#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE std::string to_string(const axis_fragment& part) {
  return "(" + std::to_string(part.axis) + ", " + std::to_string(part.position) + ", " +
         std::to_string(part.count) + ")";
}

namespace detail {

ZARRPOINT_INLINE result<void> place_fragment(shard_metadata& shard, const axis_fragment& part,
                                             std::vector<bool>& seen) {
  const auto refused = [&](const char* what) {
    return bad_shard(shard, "rank offset " + to_string(part) + ": " + what);
  };
  if (part.axis >= shard.global_shape.rank())
    return error{errc::out_of_range, refused("no such axis").message};
  if (seen[part.axis]) return refused("this axis was named before");
  if (part.position < 0 || part.count < 1 || part.position >= part.count)
    return refused("the position is not in [0, count)");
  seen[part.axis] = true;
  const index_t local = shard.global_shape[part.axis];
  index_t global = 0;
  if (__builtin_mul_overflow(local, part.count, &global))
    return error{errc::out_of_range, refused("the global extent overflows").message};
  shard.global_shape[part.axis] = global;
  shard.global_offset[part.axis] = local * part.position;
  (*shard.fragmentation)[part.axis] = part.count;
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE result<shard_metadata> from_rank_offsets(std::string key, const tensor_spec& local,
                                                          const sharding& where) {
  shard_metadata shard{.key = std::move(key), .type = local.type, .local_shape = local.shape};
  shard.replica = where.replica;
  shard.prepended_axes = where.prepended_axes;
  shard.allow_shape_mismatch = where.allow_shape_mismatch;
  if (where.prepended_axes > max_rank - local.shape.rank())
    return detail::bad_shard(shard, std::to_string(where.prepended_axes) +
                                        " prepended axes exceed the largest rank, " +
                                        std::to_string(max_rank));
  const std::size_t rank = where.prepended_axes + local.shape.rank();
  shard.global_offset = dims(rank, 0);
  shard.fragmentation = dims(rank, 1);
  shard.global_shape = shard.global_box().shape;
  std::vector<bool> seen(rank, false);
  for (const axis_fragment& part : where.offsets)
    ZARRPOINT_CHECK(detail::place_fragment(shard, part, seen));
  ZARRPOINT_CHECK(shard.check());
  return shard;
}

ZARRPOINT_INLINE result<shard_metadata> from_rank_offsets_flat(std::string key,
                                                               const tensor_spec& data,
                                                               const flat_shard& flat,
                                                               const sharding& where) {
  ZARRPOINT_TRY(shard, from_rank_offsets(std::move(key), {data.type, flat.local_shape}, where));
  shard.range = flat.range;
  ZARRPOINT_CHECK(shard.check());
  ZARRPOINT_CHECK(shard.check_value(data));
  return std::move(shard);
}

}}  // namespace zarrpoint::v0
