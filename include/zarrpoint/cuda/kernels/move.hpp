// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/cuda/kernels/kernel_index.hpp>
#include <zarrpoint/memory/device/device_space.hpp>
#include <zarrpoint/memory/loop_nest.hpp>

#include <array>

namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

/// Units of bytes that one kernel may move: below 2^31, see `fast_divisor`.
inline constexpr std::uint64_t max_units = (std::uint64_t{1} << 31) - 1;

/// Axes of a move at most: one for the units of an element, and two that `for_each_tiling` cuts.
inline constexpr std::size_t max_axes = max_rank + 3;

struct unit_axis {
  std::uint64_t count = 1;
  std::int64_t to = 0;  ///< bytes from one to the next
  std::int64_t from = 0;
};

/// A move as units of bytes, wider than an element where elements are neighbours on both sides. It
/// has nested axes, innermost first, the steps through `to` ascending so that neighbouring threads
/// write to neighbouring places.
struct unit_move {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint32_t unit = 1;  ///< 1, 2, 4, 8 or 16: all addresses and steps are multiples
  std::uint32_t rank = 0;
  std::array<unit_axis, max_axes> axes{};

  constexpr std::uint64_t count() const noexcept {
    std::uint64_t units = 1;
    for (std::uint32_t i = 0; i < rank; ++i) units *= axes[i].count;
    return units;
  }
  /// Whether both sides are one run of bytes.
  constexpr bool is_run() const noexcept {
    return rank == 0 || (rank == 1 && axes[0].to == unit && axes[0].from == unit);
  }
};

/// The shape has passed `byte_count`, and there is an element.
inline unit_move plan_move(const strided_move& elements) {
  const v0::detail::loop_nest nest(elements.shape, elements.to_strides, elements.from_strides);
  const auto size = static_cast<index_t>(elements.element_size);
  unit_move plan;
  plan.to = elements.to + nest.to_offset;
  plan.from = elements.from + nest.from_offset;
  std::uint64_t run = elements.element_size;
  std::size_t first = 0;  // of the axes that are not part of a run
  if (const auto inner = nest.inner(0); nest.rank > 0 && inner.to == size && inner.from == size) {
    run *= static_cast<std::uint64_t>(inner.count);
    first = 1;
  }
  std::uint64_t joined = run | address_of(plan.to) | address_of(plan.from);
  for (std::size_t k = first; k < nest.rank; ++k)
    joined |= static_cast<std::uint64_t>(nest.inner(k).to) |
              static_cast<std::uint64_t>(nest.inner(k).from);
  plan.unit = common_unit(joined);
  if (run != plan.unit) plan.axes[plan.rank++] = {run / plan.unit, plan.unit, plan.unit};
  for (std::size_t k = first; k < nest.rank; ++k) {
    const auto axis = nest.inner(k);
    plan.axes[plan.rank++] = {static_cast<std::uint64_t>(axis.count), axis.to, axis.from};
  }
  return plan;
}

/// Elements on a side of the squares that a transposed move is done in: each is a block's.
inline constexpr std::uint64_t tile_side = 16;
static_assert(tile_side * tile_side == block_threads);

/// The axis along which `from` has neighbours, where the innermost is far from that; else 0.
inline std::uint32_t transposed_axis(const unit_move& whole) {
  constexpr index_t sector = 32;  // what a device reads at once
  if (whole.rank == 0 || whole.axes[0].count < tile_side ||
      v0::detail::magnitude(whole.axes[0].from) < sector)
    return 0;
  for (std::uint32_t k = 1; k < whole.rank; ++k) {
    const index_t step = v0::detail::magnitude(whole.axes[k].from);
    if (step != 0 && step < sector && whole.axes[k].count >= tile_side) return k;
  }
  return 0;
}

/// Calls `f(move)` with up to three moves, which together are the whole, until it returns false;
/// whether it never did. A transposed move is done in squares, so that a block uses all that it
/// reads.
template <class F>
bool for_each_tiling(const unit_move& whole, F&& f) {
  const std::uint32_t k = transposed_axis(whole);
  if (k == 0) return f(whole);
  const unit_axis a = whole.axes[0];
  const unit_axis b = whole.axes[k];
  constexpr auto side = static_cast<std::int64_t>(tile_side);
  unit_move tiles = whole;
  tiles.rank = 0;
  tiles.axes[tiles.rank++] = {tile_side, a.to, a.from};
  tiles.axes[tiles.rank++] = {tile_side, b.to, b.from};
  tiles.axes[tiles.rank++] = {a.count / tile_side, side * a.to, side * a.from};
  tiles.axes[tiles.rank++] = {b.count / tile_side, side * b.to, side * b.from};
  for (std::uint32_t i = 1; i < whole.rank; ++i) {
    if (i != k) tiles.axes[tiles.rank++] = whole.axes[i];
  }
  if (!f(tiles)) return false;
  // What is beyond the last squares along the one axis, then along the other.
  const std::uint64_t rest_a = a.count % tile_side;
  const std::uint64_t rest_b = b.count % tile_side;
  unit_move rest = whole;
  const auto cut = [&rest](std::uint32_t axis, std::uint64_t count) {
    const auto before = static_cast<std::int64_t>(rest.axes[axis].count - count);
    rest.to += before * rest.axes[axis].to;
    rest.from += before * rest.axes[axis].from;
    rest.axes[axis].count = count;
  };
  cut(0, rest_a);
  if (rest_a != 0 && !f(rest)) return false;
  rest = whole;
  rest.axes[0].count -= rest_a;
  cut(k, rest_b);
  return rest_b == 0 || f(rest);
}

/// Calls `f(part)` with moves of at most `most` units, which together are the whole, until it
/// returns false; whether it never did.
template <class F>
bool for_each_part(const unit_move& whole, std::uint64_t most, F&& f) {
  unit_move part = whole;
  std::uint64_t within = 1;  // units of the axes that no part cuts
  std::uint32_t cut = 0;
  while (cut < whole.rank && whole.axes[cut].count <= most / within)
    within *= whole.axes[cut++].count;
  if (cut == whole.rank) return f(part);
  // `cut` is taken in pieces, and the axes around it step by step.
  const std::uint64_t piece = most / within;
  part.rank = cut + 1;
  std::array<std::uint64_t, max_axes> at{};
  while (true) {
    const std::uint64_t left = whole.axes[cut].count - at[cut];
    part.axes[cut].count = left < piece ? left : piece;
    part.to = whole.to;
    part.from = whole.from;
    for (std::uint32_t i = cut; i < whole.rank; ++i) {
      part.to += static_cast<std::int64_t>(at[i]) * whole.axes[i].to;
      part.from += static_cast<std::int64_t>(at[i]) * whole.axes[i].from;
    }
    if (!f(part)) return false;
    at[cut] += part.axes[cut].count;
    std::uint32_t i = cut;
    while (at[i] == whole.axes[i].count) {
      at[i] = 0;
      if (++i == whole.rank) return true;
      ++at[i];
    }
  }
}

/// What the kernel is given: a part of at most `max_units` units.
struct move_job {
  struct axis {
    fast_divisor count;
    std::int64_t to = 0;
    std::int64_t from = 0;
  };
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint32_t units = 0;
  std::uint32_t rank = 0;
  axis axes[max_axes];
};

inline move_job make_move_job(const unit_move& part) {
  move_job job;
  job.to = part.to;
  job.from = part.from;
  job.units = static_cast<std::uint32_t>(part.count());
  job.rank = part.rank;
  for (std::uint32_t i = 0; i < part.rank; ++i) {
    const unit_axis& axis = part.axes[i];
    job.axes[i] = {fast_divisor(static_cast<std::uint32_t>(axis.count)), axis.to, axis.from};
  }
  return job;
}

/// What one thread of the kernel moves.
template <std::size_t Unit>
constexpr void move_units(const move_job& job, thread_place place) noexcept {
  for (std::uint64_t i = place.first(); i < job.units; i += place.step()) {
    auto rest = static_cast<std::uint32_t>(i);
    std::int64_t to = 0;
    std::int64_t from = 0;
    for (std::uint32_t k = 0; k < job.rank; ++k) {
      const move_job::axis& axis = job.axes[k];
      const std::uint32_t outer = axis.count.quotient(rest);
      const std::int64_t at = rest - outer * axis.count.divisor;
      to += at * axis.to;
      from += at * axis.from;
      rest = outer;
    }
    store<Unit>(job.to + to, load<word<Unit>, Unit>(job.from + from));
  }
}

}}}  // namespace zarrpoint::v0::cuda::detail
