// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/distributed/shard/replica_id.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE std::string to_string(const flat_range& range) {
  return "[" + std::to_string(range.start) + ":" + std::to_string(range.stop) + "]";
}

ZARRPOINT_INLINE box shard_metadata::global_box() const {
  box out{global_offset, dims(prepended_axes, 1)};
  for (const index_t extent : local_shape) out.shape.push_back(extent);
  return out;
}

namespace detail {

ZARRPOINT_INLINE error bad_shard(const shard_metadata& shard, std::string what) {
  return {errc::invalid_argument, "shard of \"" + shard.key + "\": " + std::move(what)};
}

ZARRPOINT_INLINE result<void> check_ranks(const shard_metadata& shard) {
  const std::size_t rank = shard.global_shape.rank();
  if (shard.global_offset.rank() != rank)
    return bad_shard(shard, "global offset " + to_string(shard.global_offset) +
                                " must have the same rank as global shape " +
                                to_string(shard.global_shape));
  if (shard.prepended_axes > rank || shard.local_shape.rank() != rank - shard.prepended_axes)
    return bad_shard(shard, "local shape " + to_string(shard.local_shape) + " and " +
                                std::to_string(shard.prepended_axes) +
                                " prepended axes do not add up to the rank of global shape " +
                                to_string(shard.global_shape));
  if (shard.fragmentation && shard.fragmentation->rank() != rank)
    return bad_shard(shard, "fragmentation " + to_string(*shard.fragmentation) +
                                " must have the same rank as global shape " +
                                to_string(shard.global_shape));
  return {};
}

ZARRPOINT_INLINE result<void> check_axis(const shard_metadata& shard, std::size_t axis) {
  const index_t global = shard.global_shape[axis];
  const index_t offset = shard.global_offset[axis];
  const bool prepended = axis < shard.prepended_axes;
  const index_t local = prepended ? 1 : shard.local_shape[axis - shard.prepended_axes];
  const auto refused = [&](const std::string& what) {
    return bad_shard(shard, "axis " + std::to_string(axis) + ": " + what);
  };
  if (global < 0 || offset < 0 || local < 0) return refused("a negative shape or offset");
  index_t end = 0;
  if (__builtin_add_overflow(offset, local, &end) || end > global)
    return error{
        errc::out_of_range,
        refused("offset " + std::to_string(offset) + " and extent " + std::to_string(local) +
                " reach beyond the global extent " + std::to_string(global))
            .message};
  if (!shard.fragmentation) return {};
  const index_t fragments = (*shard.fragmentation)[axis];
  if (fragments < 1) return refused("a fragmentation below 1");
  if (local != 0 && offset % local != 0)
    return refused("global offset " + std::to_string(offset) +
                   " is not divisible by the local extent " + std::to_string(local));
  index_t covered = 0;
  if (__builtin_mul_overflow(local, fragments, &covered) || covered != global)
    return refused(std::to_string(fragments) + " fragments of " + std::to_string(local) +
                   " are not the global extent " + std::to_string(global));
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE result<void> shard_metadata::check() const {
  const std::size_t rank = global_shape.rank();
  if (key.empty()) return error{errc::invalid_argument, "shard without a key"};
  if (!type.valid()) return detail::bad_shard(*this, "no data type");
  ZARRPOINT_CHECK(detail::check_ranks(*this));
  for (std::size_t axis = 0; axis < rank; ++axis) ZARRPOINT_CHECK(detail::check_axis(*this, axis));
  // The context of the error is made where there is one: many shards are checked.
  if (auto bytes = byte_count(global_shape, std::max<std::size_t>(type.size(), 1)); !bytes)
    return std::move(bytes).at("shard of \"" + key + "\"").failure();
  if (range && local_shape.rank() == 0)
    return detail::bad_shard(*this, "a shard of rank 0 cannot have a flat range");
  ZARRPOINT_TRY(volume, element_count(local_shape));
  if (range && (range->start < 0 || range->stop < range->start || range->stop > volume))
    return error{
        errc::out_of_range,
        detail::bad_shard(*this, "flat range " + to_string(*range) + " reaches beyond a shard of " +
                                     std::to_string(volume) + " elements")
            .message};
  return {};
}

ZARRPOINT_INLINE result<void> shard_metadata::check_value(const tensor_spec& value) const {
  if (value.type != type)
    return error{errc::dtype_mismatch, "shard of \"" + key + "\": the value is of dtype " +
                                           std::string(to_string(value.type)) + ", wanted " +
                                           std::string(to_string(type))};
  if (range && value.shape.rank() != 1)
    return error{errc::shape_mismatch, "shard of \"" + key +
                                           "\": the value of a flat range has shape " +
                                           to_string(value.shape) + ", wanted rank 1"};
  if (value.shape != data_shape())
    return error{errc::shape_mismatch, "shard of \"" + key + "\": the value has shape " +
                                           to_string(value.shape) + ", wanted " +
                                           to_string(data_shape())};
  return {};
}

}}  // namespace zarrpoint::v0
