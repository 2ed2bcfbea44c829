// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/distributed/shard/split_shard.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The elements of the data of a flat range that belong to part `number`, each part being `volume`
/// elements; nothing when there are none.
ZARRPOINT_INLINE std::optional<shard_part> flat_part(const shard_metadata& part, index_t number,
                                                     index_t volume) {
  const flat_range whole = *part.range;
  const index_t first = number * volume;
  const flat_range within{std::max(whole.start, first), std::min(whole.stop, first + volume)};
  if (within.size() <= 0) return std::nullopt;
  shard_part out{part, {{within.start - whole.start}, {within.size()}}};
  out.metadata.range = flat_range{within.start - first, within.stop - first};
  return out;
}

ZARRPOINT_INLINE result<std::vector<std::optional<shard_part>>> split_shard(
    const shard_metadata& fused, const split_axis& how) {
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
                 detail::bad_shard(fused, "a flat range cannot be split along axis " +
                                              std::to_string(how.axis) +
                                              ": the elements of the parts alternate in it")
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

}}}  // namespace zarrpoint::v0::detail
