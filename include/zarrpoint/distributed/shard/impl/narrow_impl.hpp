// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/shard/narrow.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

ZARRPOINT_INLINE index_t scaled(index_t global, const axis_range& to, index_t local) {
  return local == 0 ? global : global / local * to.length;
}

/// The flat range `old` of a shard after its cut along axis 0, and the part of the local tensor
/// that stays; nothing where none does.
ZARRPOINT_INLINE std::optional<narrowed> narrow_range(shard_metadata shard, const flat_range& old,
                                                      const axis_range& to) {
  // Where there are elements, no product of extents overflows; a 0 could hide that one does.
  if (element_count(shard.local_shape).value_or(0) == 0) return std::nullopt;
  index_t row = 1;
  for (std::size_t i = 1; i < shard.local_shape.rank(); ++i) row *= shard.local_shape[i];
  const index_t first = to.start * row;
  const index_t end = first + to.length * row;
  if (old.stop <= first || old.start >= end) return std::nullopt;
  const index_t start = std::max(old.start, first);
  const index_t stop = std::min(old.stop, end);
  shard.range = flat_range{start - first, stop - first};
  return narrowed{std::move(shard), box{{start - old.start}, {stop - start}}};
}

}  // namespace detail

ZARRPOINT_INLINE result<std::optional<narrowed>> narrow(const shard_metadata& shard,
                                                        const axis_range& to) {
  ZARRPOINT_CHECK(shard.check());
  const auto leaves = [&shard](const std::string& what) {
    return error{errc::out_of_range, detail::bad_shard(shard, what).message};
  };
  if (to.axis >= shard.local_shape.rank())
    return leaves("narrowed along axis " + std::to_string(to.axis) + " of local shape " +
                  to_string(shard.local_shape));
  const index_t local = shard.local_shape[to.axis];
  if (to.start < 0 || to.length < 0 || to.start > local || to.length > local - to.start)
    return leaves("narrowed to " + std::to_string(to.length) + " elements from " +
                  std::to_string(to.start) + " of " + std::to_string(local) + " along axis " +
                  std::to_string(to.axis));
  if (!shard.is_regular())
    return detail::bad_shard(shard, "only shards of a regular grid are narrowed");
  if (shard.range && to.axis != 0)
    return detail::bad_shard(
        shard, "a flat range is narrowed along axis 0 only, not " + std::to_string(to.axis));
  shard_metadata out = shard;
  const std::size_t axis = shard.prepended_axes + to.axis;
  out.local_shape[to.axis] = to.length;
  out.global_shape[axis] = detail::scaled(shard.global_shape[axis], to, local);
  out.global_offset[axis] = detail::scaled(shard.global_offset[axis], to, local);
  if (shard.range) return detail::narrow_range(std::move(out), *shard.range, to);
  box part{dims(out.local_shape.rank(), 0), out.local_shape};
  part.offset[to.axis] = to.start;
  return std::optional(narrowed{std::move(out), part});
}

ZARRPOINT_INLINE result<std::optional<sharded_tensor>> narrow(const sharded_tensor& shard,
                                                              const axis_range& to) {
  ZARRPOINT_TRY(left, narrow(shard.metadata(), to));
  std::optional<sharded_tensor> out;
  if (left) {
    ZARRPOINT_TRY(made, shard.part(std::move(left->shard), left->part));
    out = std::move(made);
  }
  return out;
}

}}  // namespace zarrpoint::v0
