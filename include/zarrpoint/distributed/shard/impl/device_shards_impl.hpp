// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/grid/piece_grid.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/distributed/shard/device_shards.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/exec/byte_limiter.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/memory/device/device_delivery.hpp>
#include <zarrpoint/memory/device/device_source.hpp>
#include <zarrpoint/memory/device/device_space.hpp>
#include <zarrpoint/memory/device/staging_ring.hpp>
#include <zarrpoint/memory/device/stream_guard.hpp>
#include <zarrpoint/memory/element_source.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE box data_box(const shard_metadata& shard) {
  box out = box::whole(shard.data_shape());
  if (shard.range) return out;
  for (std::size_t i = 0; i < out.rank(); ++i)
    out.offset[i] = shard.global_offset[shard.prepended_axes + i];
  return out;
}

ZARRPOINT_INLINE dims data_unit(const shard_metadata& shard, const dims& unit) {
  dims out(shard.data_shape().rank(), 1);
  if (shard.range || unit.rank() != shard.prepended_axes + out.rank()) return out;
  for (std::size_t i = 0; i < out.rank(); ++i)
    out[i] = std::max<index_t>(unit[shard.prepended_axes + i], 1);
  return out;
}

ZARRPOINT_INLINE result<void> read_all(element_source& from, const mutable_host_view& to) {
  const piece_grid parts =
      piece_grid::make(box::whole(to.shape), dims(to.rank(), 1), to.type.size(), from.part_bytes());
  std::unique_ptr<source_part> coming;
  box place;
  const auto arrive = [&]() -> result<void> {
    if (coming == nullptr) return {};
    ZARRPOINT_TRY(elements, coming->wait());
    copy_elements(subview(to, selection(place)), elements);
    coming.reset();
    return {};
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ZARRPOINT_TRY(next, from.begin(parts.at(i), coming == nullptr));
    std::unique_ptr<source_part> asked = std::move(next);
    ZARRPOINT_CHECK(arrive());
    if (asked == nullptr) {  // the only block was ours
      ZARRPOINT_TRY(later, from.begin(parts.at(i), true));
      asked = std::move(later);
    }
    coming = std::move(asked);
    place = parts.at(i);
  }
  return arrive();
}

}}}  // namespace zarrpoint::v0::detail
