// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/distributed/shard_metadata.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

/// How a local tensor is several tensors one after another along an axis, as the two weights of a
/// gated layer are: `parts` of them along `axis` of the local shape, prepended axes not counted.
struct split_axis {
  std::size_t axis = 0;
  std::size_t parts = 2;
};

/// One of the tensors that a local tensor consists of.
struct shard_part {
  shard_metadata metadata;
  box data;  ///< where its elements are in the local tensor's data
};

namespace detail {

/// The elements of the data of a flat range that belong to part `number`, each part being `volume`
/// elements; nothing when there are none.
inline std::optional<shard_part> flat_part(const shard_metadata& part, index_t number,
                                           index_t volume) {
  const flat_range whole = *part.range;
  const index_t first = number * volume;
  const flat_range within{std::max(whole.start, first), std::min(whole.stop, first + volume)};
  if (within.size() <= 0) return std::nullopt;
  shard_part out{part, {{within.start - whole.start}, {within.size()}}};
  out.metadata.range = flat_range{within.start - first, within.stop - first};
  return out;
}

}  // namespace detail

/// The parts of a shard as shards of one global tensor with `parts` times as many fragments along
/// the axis: the first parts of all processes come first in it, then all second ones, so that a
/// load may divide the processes' parts anew. A part of which a flat range has nothing is nothing.
/// Errors: those of `shard_metadata::check`; `invalid_argument` for an axis that is not there, no
/// parts, or extents that do not divide; `unsupported` for a flat range where the parts of a local
/// tensor are not each in one piece.
inline result<std::vector<std::optional<shard_part>>> split_shard(const shard_metadata& fused,
                                                                  const split_axis& how) {
  ZARRPOINT_CHECK(fused.check());
  constexpr std::size_t most_parts = 1024;
  if (how.axis >= fused.local_shape.rank() || how.parts == 0 || how.parts > most_parts)
    return detail::bad_shard(fused, "cannot be split in " + std::to_string(how.parts) +
                                        " parts along axis " + std::to_string(how.axis));
  const auto count = static_cast<index_t>(how.parts);
  const std::size_t axis = fused.prepended_axes + how.axis;
  const index_t stride = fused.global_shape[axis] / count;
  shard_metadata part = fused;
  part.local_shape[how.axis] /= count;
  part.global_offset[axis] /= count;
  if (fused.local_shape[how.axis] % count != 0 || fused.global_offset[axis] % count != 0 ||
      fused.global_shape[axis] % count != 0)
    return detail::bad_shard(
        fused, std::to_string(how.parts) + " parts do not divide axis " + std::to_string(how.axis));
  if (part.fragmentation) {
    index_t& fragments = (*part.fragmentation)[axis];
    ZARRPOINT_TRY(more, checked_mul(fragments, count));
    fragments = more;
  }
  const auto is_one = [](index_t extent) { return extent == 1; };
  if (fused.range &&
      !std::all_of(fused.local_shape.begin(), fused.local_shape.begin() + how.axis, is_one))
    return error{errc::unsupported,
                 detail::bad_shard(fused, "a flat range of parts along axis " +
                                              std::to_string(how.axis) + ", which interleave")
                     .message};
  ZARRPOINT_TRY(volume, element_count(part.local_shape));
  std::vector<std::optional<shard_part>> out;
  out.reserve(how.parts);
  for (index_t number = 0; number < count; ++number) {
    if (fused.range) {
      out.push_back(detail::flat_part(part, number, volume));
    } else {
      box data = box::whole(part.local_shape);
      data.offset[how.axis] = number * part.local_shape[how.axis];
      out.emplace_back(shard_part{part, data});
    }
    part.global_offset[axis] += stride;
  }
  return out;
}

}  // namespace zarrpoint::inline v0
