// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/grid/piece_grid.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/exec/byte_limiter.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/memory/device/device_delivery.hpp>
#include <zarrpoint/memory/device/device_space.hpp>
#include <zarrpoint/memory/device/staging_ring.hpp>
#include <zarrpoint/memory/element_source.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <algorithm>
#include <functional>
#include <memory>

namespace zarrpoint { inline namespace v0 {

/// Puts the elements of a part of a local tensor into memory that the host can write. Parts of a
/// tensor on a device may be asked for by several threads at the same time.
using fill_function = std::function<result<void>(const box& part, const mutable_host_view& into)>;

namespace detail {

/// The local value as a box of the global tensor, without the axes that are prepended; a flat range
/// lies in no grid.
box data_box(const shard_metadata& shard);
/// A unit of the global tensor's grid along the axes of the local value.
dims data_unit(const shard_metadata& shard, const dims& unit);

/// The ring of a device, shared by all operations with this scratch memory.
template <device_space Space>
std::shared_ptr<staging_ring<Space>> shared_ring(const Space& space, const context& how) {
  return ring_of(how.scratch->kept(), space, how.scratch->resource(), how.limit.memory);
}

/// Copies all elements of a source to the host: while one part is copied from its pinned block, the
/// next comes.
result<void> read_all(element_source& from, const mutable_host_view& to);

/// A local tensor on a device, filled part by part: each is read into a pinned block, and copied
/// from there while others are read. The parts are whole units of the grid that is read from, as
/// far as that goes; a unit larger than a block takes host memory of its size.
template <device_space Space>
class device_filler {
 public:
  device_filler(const mutable_tensor_view<Space>& into, const context& how)
      : to_(into, shared_ring(into.space, how)), how_(how) {}

  /// `place`: where the tensor lies in the grid of `unit`. When it returns all is there, or, after
  /// an error, nothing under way. Errors: those of `read`, of the space, `unsupported` for strings,
  /// `resource_limit`.
  result<void> fill(const box& place, const dims& unit, const fill_function& read) const {
    const mutable_tensor_view<Space>& into = to_.target();
    if (into.type.is_variable())
      return error{errc::unsupported,
                   "strings live in host memory only; load or save them without a device"};
    const std::size_t slot = to_.ring().slot_bytes();
    if (size_ > slot)
      return error{errc::resource_limit, "an element has " + std::to_string(size_) +
                                             " bytes, more than a staging block of " +
                                             std::to_string(slot)};
    ZARRPOINT_TRY(bytes, byte_count(into.spec()));
    ZARRPOINT_CHECK(to_.check());
    stream_guard<Space> guard(into.space);
    ZARRPOINT_CHECK(into.space.follow(into.ready));
    // Some parts for each block, so that reading and copying overlap, but none so small that it
    // has too few inner chunks for all threads.
    constexpr std::size_t least = std::size_t{4} << 20;
    const std::size_t share = bytes / (2 * to_.ring().slots());
    const piece_grid parts =
        piece_grid::make(place, unit, size_, std::min(std::max(share, least), slot));
    const auto workers = static_cast<unsigned>(to_.ring().slots());
    ZARRPOINT_CHECK(parallel_for(how_.executor, parts.size(),
                                 [&](std::size_t i) -> result<void> {
                                   const box part = parts.at(i);
                                   ZARRPOINT_TRY(part_bytes, byte_count(part.shape, size_));
                                   if (part_bytes > slot) return fill_large(part, part_bytes, read);
                                   return deliver(
                                       part, [&](const auto& host) { return read(part, host); });
                                 },
                                 {.max_workers = workers, .stop = how_.stop}));
    return guard.finish();
  }

 private:
  template <class F>
  result<void> deliver(const box& part, F&& fill) const {
    return to_.deliver(part, fill);
  }

  /// Bounds the memory of parts larger than a block, of all tensors that share scratch memory.
  struct large_part_limiter : byte_limiter {
    using byte_limiter::byte_limiter;
  };

  result<void> fill_large(const box& part, std::size_t bytes, const fill_function& read) const {
    scratch_pool& scratch = *how_.scratch;
    const auto limiter = scratch.kept().template get<large_part_limiter>(0, [&] {
      return detail::make_counted<large_part_limiter>(
          std::min(scratch.limiter().limit(), std::max<std::size_t>(how_.limit.memory / 4, 1)));
    });
    // Others that need as much wait; what waits for this holds nothing that this waits for.
    ZARRPOINT_TRY(granted, limiter->acquire(bytes, how_.stop));
    const byte_limiter::reservation held = std::move(granted);
    ZARRPOINT_TRY(whole, tensor::make({to_.target().type, part.shape}, scratch.resource()));
    ZARRPOINT_CHECK(read(part, whole.mutable_view()));
    const dims one(part.rank(), 1);
    const piece_grid blocks =
        piece_grid::make(box::whole(part.shape), one, size_, to_.ring().slot_bytes());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const box within = blocks.at(i);
      box at = within;
      for (std::size_t axis = 0; axis < at.rank(); ++axis) at.offset[axis] += part.offset[axis];
      ZARRPOINT_CHECK(deliver(at, [&](const mutable_host_view& host) -> result<void> {
        copy_elements(host, subview(whole.view(), selection(within)));
        return {};
      }));
    }
    return {};
  }

  device_delivery<Space> to_;
  context how_;
  std::size_t size_ = to_.target().type.size();
};

}  // namespace detail

}}  // namespace zarrpoint::v0
