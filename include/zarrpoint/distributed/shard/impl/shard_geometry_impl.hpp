// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/distributed/shard/shard_geometry.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>

#include <algorithm>
#include <compare>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<std::vector<slice_part>> global_slice(const shard_metadata& shard) {
  ZARRPOINT_CHECK(detail::check_ranks(shard));
  const box part = shard.global_box();
  std::vector<slice_part> out;
  for (std::size_t axis = 0; axis < part.rank(); ++axis)
    out.push_back({part.offset[axis], part.shape[axis], axis < shard.prepended_axes});
  return out;
}

ZARRPOINT_INLINE result<dims> chunk_offset_in_global(const shard_metadata& shard) {
  ZARRPOINT_CHECK(shard.check());
  if (!shard.is_regular()) return detail::bad_shard(shard, "it is not part of a regular grid");
  const box part = shard.global_box();
  if (part.empty()) return detail::bad_shard(shard, "an empty shard has no place in the grid");
  dims out = part.offset;
  for (std::size_t axis = 0; axis < out.rank(); ++axis) out[axis] /= part.shape[axis];
  return out;
}

ZARRPOINT_INLINE result<dims> max_allowed_chunks(const shard_metadata& shard) {
  ZARRPOINT_CHECK(detail::check_ranks(shard));
  if (!shard.is_regular()) return detail::bad_shard(shard, "it is not part of a regular grid");
  dims out = shard.global_shape;
  for (std::size_t axis = 0; axis < out.rank(); ++axis) {
    const index_t count = (*shard.fragmentation)[axis];
    const std::string where = "axis " + std::to_string(axis) + ": ";
    if (count < 1) return detail::bad_shard(shard, where + "the fragmentation must be 1 or more");
    if (out[axis] % count != 0 && !shard.allow_shape_mismatch)
      return detail::bad_shard(shard, where + "the global extent " + std::to_string(out[axis]) +
                                          " is not divisible by the fragmentation " +
                                          std::to_string(count));
    out[axis] /= count;
  }
  return out;
}

ZARRPOINT_INLINE result<std::vector<std::vector<index_t>>> local_coordinates(
    const shard_metadata& shard) {
  ZARRPOINT_CHECK(shard.check());
  if (!shard.range) return detail::bad_shard(shard, "only a flat range has coordinates");
  std::vector<std::vector<index_t>> out(shard.local_shape.rank());
  for (index_t i = shard.range->start; i < shard.range->stop; ++i) {
    index_t rest = i;
    for (std::size_t axis = out.size(); axis-- > 0;) {
      out[axis].push_back(rest % shard.local_shape[axis]);
      rest /= shard.local_shape[axis];
    }
  }
  return out;
}

ZARRPOINT_INLINE result<std::vector<std::vector<index_t>>> global_coordinates(
    const shard_metadata& shard) {
  ZARRPOINT_TRY(out, local_coordinates(shard));
  const auto count = static_cast<std::size_t>(shard.range->size());
  out.insert(out.begin(), shard.prepended_axes, std::vector<index_t>(count, 0));
  for (std::size_t axis = 0; axis < out.size(); ++axis) {
    for (index_t& at : out[axis]) at += shard.global_offset[axis];
  }
  return std::move(out);
}

namespace detail {

ZARRPOINT_INLINE std::vector<box> flat_boxes(const dims& shape, const flat_range& range) {
  std::vector<box> out;
  index_t at = std::max<index_t>(range.start, 0);
  const index_t stop = std::min(range.stop, element_count(shape).value_or(0));
  if (at >= stop) return out;
  const std::size_t rank = shape.rank();
  if (rank == 0) return {box{}};
  const dims strides = row_major_strides(shape, 1);
  while (at < stop) {
    // The outermost axis along which a whole step begins here and fits.
    std::size_t axis = 0;
    while (at % strides[axis] != 0 || strides[axis] > stop - at) ++axis;
    box part{dims(rank, 0), shape};
    index_t rest = at;
    for (std::size_t i = 0; i <= axis; ++i) {
      part.offset[i] = rest / strides[i];
      rest %= strides[i];
      part.shape[i] = 1;
    }
    part.shape[axis] = std::min((stop - at) / strides[axis], shape[axis] - part.offset[axis]);
    at += part.shape[axis] * strides[axis];
    out.push_back(part);
  }
  return out;
}

ZARRPOINT_INLINE std::vector<box> global_boxes(const shard_metadata& shard) {
  if (!shard.range) return {shard.global_box()};
  std::vector<box> out = flat_boxes(shard.local_shape, *shard.range);
  for (box& part : out) {
    box global{shard.global_offset, dims(shard.prepended_axes, 1)};
    for (std::size_t axis = 0; axis < part.rank(); ++axis) {
      global.offset[shard.prepended_axes + axis] += part.offset[axis];
      global.shape.push_back(part.shape[axis]);
    }
    part = global;
  }
  return out;
}

ZARRPOINT_INLINE std::strong_ordering compare_places(const dims& offset,
                                                     const std::optional<flat_range>& range,
                                                     const dims& other_offset,
                                                     const std::optional<flat_range>& other_range) {
  if (const auto order = std::lexicographical_compare_three_way(
          offset.begin(), offset.end(), other_offset.begin(), other_offset.end());
      std::is_neq(order))
    return order;
  if (!range || !other_range) return range.has_value() <=> other_range.has_value();
  if (const auto order = range->start <=> other_range->start; std::is_neq(order)) return order;
  return range->stop <=> other_range->stop;
}

ZARRPOINT_INLINE std::strong_ordering operator<=>(const shard_id& a, const shard_id& b) {
  if (const auto order = a.key <=> b.key; std::is_neq(order)) return order;
  return detail::compare_places(a.global_offset, a.range, b.global_offset, b.range);
}

ZARRPOINT_INLINE shard_id id_of(const shard_metadata& shard) {
  return {shard.key, shard.global_offset, shard.range};
}

ZARRPOINT_INLINE std::strong_ordering compare_shards(const shard_metadata& a,
                                                     const shard_metadata& b) {
  if (const auto order = a.key <=> b.key; std::is_neq(order)) return order;
  return detail::compare_places(a.global_offset, a.range, b.global_offset, b.range);
}

}  // namespace detail

}}  // namespace zarrpoint::v0
