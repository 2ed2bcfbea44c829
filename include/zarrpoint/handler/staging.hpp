// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elements of any memory space to the host and back: written once, against the concepts.

#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/device_buffer.hpp>
#include <zarrpoint/memory/device_space.hpp>
#include <zarrpoint/memory/row_plan.hpp>
#include <zarrpoint/memory/stream_guard.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>

namespace zarrpoint::inline v0 {

/// Elements that the host can read: in memory of their own, or where they always were.
struct staged {
  host_view view;
  buffer owned;  ///< empty when nothing had to be copied
};

namespace detail {

/// What a strided view touches: bytes `[low, high)` from its first element.
struct touched_bytes {
  index_t low = 0;
  index_t high = 0;
};

template <class Space, bool Writable>
touched_bytes bytes_touched(const basic_tensor_view<Space, Writable>& view) {
  touched_bytes out;
  for (std::size_t i = 0; i < view.rank(); ++i) {
    if (view.shape[i] == 0) return {};
    const index_t reach = view.strides[i] * (view.shape[i] - 1);
    (reach < 0 ? out.low : out.high) += reach;
  }
  out.high += static_cast<index_t>(view.type.size());
  return out;
}

/// Whether the elements fill their memory without gaps in some order of the dimensions, as those of
/// a column-major matrix do.
template <class Space>
bool is_dense_in_some_order(const mutable_tensor_view<Space>& view) {
  std::array<std::size_t, max_rank> order{};
  std::size_t rank = 0;
  for (std::size_t i = 0; i < view.rank(); ++i) {
    if (view.shape[i] != 1) order[rank++] = i;
  }
  const auto used = std::span(order).first(rank);
  std::sort(used.begin(), used.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(view.strides[a]) < std::abs(view.strides[b]);
  });
  auto expected = static_cast<index_t>(view.type.size());
  for (const std::size_t i : used) {
    if (std::abs(view.strides[i]) != expected) return false;
    expected *= view.shape[i];
  }
  return true;
}

/// Narrower rows are moved by a kernel where there is one: each row costs a device about as much as
/// this many bytes.
inline constexpr std::size_t narrow_row = 64;

/// The layout of `view` on the device against a dense one at `dense`.
template <class Space, bool Writable>
strided_move gather_of(const basic_tensor_view<Space, Writable>& view, std::byte* dense) {
  return {dense,
          view.data,
          view.type.size(),
          view.shape,
          row_major_strides(view.shape, view.type.size()),
          view.strides};
}
template <class Space>
strided_move scatter_of(const mutable_tensor_view<Space>& view, const std::byte* dense) {
  return {view.data,  dense,        view.type.size(),
          view.shape, view.strides, row_major_strides(view.shape, view.type.size())};
}

/// Gathers `from` by a kernel and copies it to `to`, which is dense. False without a kernel, or
/// without the memory on the device to gather in.
template <device_space Space>
result<bool> stage_by_kernel(const tensor_view<Space>& from, mutable_bytes to) {
  if constexpr (kernel_space<Space>) {
    if (!from.space.has_kernels()) return false;
    auto scratch = device_buffer<Space>::allocate(from.space, to.size());
    if (!scratch && scratch.failure().code == errc::resource_limit) return false;
    if (!scratch) return std::move(scratch).failure();
    ZARRPOINT_CHECK(from.space.move(gather_of(from, scratch->data())));
    ZARRPOINT_CHECK(from.space.copy_to_host(to.data(), scratch->data(), {.width = to.size()}));
    return true;
  } else {
    static_cast<void>(from), static_cast<void>(to);
    return false;
  }
}

/// The way back.
template <device_space Space>
result<bool> place_by_kernel(const mutable_tensor_view<Space>& to, bytes_view from) {
  if constexpr (kernel_space<Space>) {
    if (!to.space.has_kernels()) return false;
    auto scratch = device_buffer<Space>::allocate(to.space, from.size());
    if (!scratch && scratch.failure().code == errc::resource_limit) return false;
    if (!scratch) return std::move(scratch).failure();
    ZARRPOINT_CHECK(to.space.copy_from_host(scratch->data(), from.data(), {.width = from.size()}));
    ZARRPOINT_CHECK(to.space.move(scatter_of(to, scratch->data())));
    return true;
  } else {
    static_cast<void>(to), static_cast<void>(from);
    return false;
  }
}

template <device_space Space>
result<staged> stage_from_device(const tensor_view<Space>& from, memory_resource& resource) {
  ZARRPOINT_TRY(bytes, byte_count(from.spec()));
  if (from.type.is_variable()) return error{errc::unsupported, "strings live in host memory only"};
  staged out;
  out.view = dense_view(static_cast<const std::byte*>(nullptr), from.spec());
  if (bytes == 0) return out;
  const touched_bytes touched = bytes_touched(from);
  const auto cover = static_cast<std::size_t>(touched.high - touched.low);
  ZARRPOINT_CHECK(from.space.check(from.data + touched.low, cover));
  const row_plan plan = plan_rows(from.shape, from.strides, from.type.size());
  const bool by_rows =
      plan.blocks() == 1 && (plan.rows.count == 1 || plan.rows.width >= narrow_row);
  bool whole = !by_rows && cover == bytes;  // dense in another order of the dimensions
  // One copy of everything between the first and the last element costs less than many small ones,
  // as long as what lies between is not the larger part.
  const bool may_be_whole = !by_rows && cover / 2 <= bytes;
  ZARRPOINT_TRY(owned, buffer::allocate(may_be_whole ? std::max(cover, bytes) : bytes, resource));
  stream_guard<Space> under_way(from.space);
  ZARRPOINT_CHECK(from.space.follow(from.ready));
  bool gathered = false;
  if (!by_rows && !whole) {
    ZARRPOINT_TRY(by_kernel, stage_by_kernel(from, owned.bytes().first(bytes)));
    gathered = by_kernel;
    whole = !gathered && may_be_whole;
  }
  if (whole) {
    ZARRPOINT_CHECK(
        from.space.copy_to_host(owned.data(), from.data + touched.low, {.width = cover}));
    out.view = {owned.data() - touched.low, from.type, from.shape, from.strides, {}, {}};
  } else {
    out.view.data = owned.data();
    if (!gathered) {
      ZARRPOINT_CHECK(plan.for_each([&](index_t on_device, index_t on_host) {
        return from.space.copy_to_host(owned.data() + on_host, from.data + on_device, plan.rows);
      }));
    }
  }
  ZARRPOINT_CHECK(under_way.finish());
  out.owned = std::move(owned);
  return out;
}

template <device_space Space>
result<void> place_on_device(const mutable_tensor_view<Space>& to, const host_view& from,
                             memory_resource& resource) {
  ZARRPOINT_TRY(bytes, byte_count(to.spec()));
  if (bytes == 0) return {};
  const touched_bytes touched = bytes_touched(to);
  const auto cover = static_cast<std::size_t>(touched.high - touched.low);
  ZARRPOINT_CHECK(to.space.check(to.data + touched.low, cover));
  const row_plan plan = plan_rows(to.shape, to.strides, to.type.size());
  const bool by_rows =
      plan.blocks() == 1 && (plan.rows.count == 1 || plan.rows.width >= narrow_row);
  buffer reordered;
  stream_guard<Space> under_way(to.space);
  ZARRPOINT_CHECK(to.space.follow(to.ready));
  bool moved = false;
  if (!by_rows) {
    ZARRPOINT_TRY(by_kernel, place_by_kernel(to, {from.data, bytes}));
    moved = by_kernel;
  }
  if (moved) return under_way.finish();
  if (!by_rows && is_dense_in_some_order(to)) {
    ZARRPOINT_TRY(owned, buffer::allocate(bytes, resource));
    reordered = std::move(owned);
    copy_elements({reordered.data() - touched.low, to.type, to.shape, to.strides, {}, {}}, from);
    ZARRPOINT_CHECK(
        to.space.copy_from_host(to.data + touched.low, reordered.data(), {.width = bytes}));
  } else {
    ZARRPOINT_CHECK(plan.for_each([&](index_t on_device, index_t on_host) {
      return to.space.copy_from_host(to.data + on_device, from.data + on_host, plan.rows);
    }));
  }
  return under_way.finish();
}

}  // namespace detail

/// The elements of `from` where the host can read them, once they are ready: in place if the space
/// is accessible to the host, else copied into memory of `resource` (their strides may be kept). At
/// most twice the tensor's bytes are allocated. Errors: those of the space, `resource_limit`,
/// `out_of_range` for a spec that does not fit in memory.
template <memory_space Space>
result<staged> stage_to_host(const tensor_view<Space>& from, memory_resource& resource) {
  if constexpr (Space::host_accessible) {
    ZARRPOINT_CHECK(from.space.wait(from.ready));
    return staged{{from.data, from.type, from.shape, from.strides, {}, {}}, {}};
  } else {
    return detail::stage_from_device(from, resource);
  }
}

/// Copies a dense host array into a target of the same spec on a device, after what the target's
/// `ready` stands for, and waits until it is there. What the device cannot rearrange by itself is
/// reordered in as many bytes of `resource`, if the target is dense in some order of its
/// dimensions. Errors: those of the space; `resource_limit`; `invalid_argument` when the specs
/// differ or `from` is not dense.
template <device_space Space>
result<void> place_from_host(const mutable_tensor_view<Space>& to, const host_view& from,
                             memory_resource& resource = default_resource()) {
  if (to.type != from.type || to.shape != from.shape || !is_dense(from) || to.type.is_variable())
    return error{errc::invalid_argument, "cannot place " + to_string(from.spec()) + " into " +
                                             to_string(to.spec()) + " of a " + Space::name +
                                             " tensor"};
  return detail::place_on_device(to, from, resource);
}

}  // namespace zarrpoint::inline v0
