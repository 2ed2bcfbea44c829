// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elements of any memory space to the host and back: written once, against the concepts.

#include <zarrpoint/handler/base/concepts.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/device/device_buffer.hpp>
#include <zarrpoint/memory/device/device_space.hpp>
#include <zarrpoint/memory/device/packed_rows.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Narrower rows are moved by a kernel where there is one: each row costs a device about as much as
/// this many bytes.
inline constexpr std::size_t narrow_row = 64;

inline bool is_one_good_copy(const packed_rows& rows) {
  return rows.is_run() || (rows.copies() == 1 && rows.rows.width >= narrow_row);
}

/// Has a kernel gather `from` as `rows` says, and copies that to `to`. False without a kernel, or
/// without the memory on the device to gather in.
template <device_space Space>
result<bool> stage_by_kernel([[maybe_unused]] const tensor_view<Space>& from,
                             [[maybe_unused]] const packed_rows& rows,
                             [[maybe_unused]] std::byte* to) {
  if constexpr (kernel_space<Space>) {
    if (!from.space.has_kernels()) return false;
    auto scratch = device_buffer<Space>::allocate(from.space, rows.bytes);
    if (!scratch && scratch.failure().code == errc::resource_limit) return false;
    if (!scratch) return std::move(scratch).failure();
    strided_move gather{scratch->data() + rows.first,
                        from.data,
                        from.type.size(),
                        from.shape,
                        rows.strides,
                        from.strides};
    for (std::size_t i = 0; i < from.rank(); ++i) {
      if (from.strides[i] == 0) gather.shape[i] = 1;  // what is repeated is gathered once
    }
    ZARRPOINT_CHECK(from.space.move(gather));
    ZARRPOINT_CHECK(from.space.copy_to_host(to, scratch->data(), {.width = rows.bytes}));
    return true;
  } else {
    return false;
  }
}

/// The way back, from a dense array on the host.
template <device_space Space>
result<bool> place_by_kernel([[maybe_unused]] const mutable_tensor_view<Space>& to,
                             [[maybe_unused]] bytes_view from) {
  if constexpr (kernel_space<Space>) {
    if (!to.space.has_kernels()) return false;
    auto scratch = device_buffer<Space>::allocate(to.space, from.size());
    if (!scratch && scratch.failure().code == errc::resource_limit) return false;
    if (!scratch) return std::move(scratch).failure();
    ZARRPOINT_CHECK(to.space.copy_from_host(scratch->data(), from.data(), {.width = from.size()}));
    ZARRPOINT_CHECK(to.space.move({to.data, scratch->data(), to.type.size(), to.shape, to.strides,
                                   row_major_strides(to.shape, to.type.size())}));
    return true;
  } else {
    return false;
  }
}

template <class Space>
result<staged> stage_from_device(const tensor_view<Space>& from, memory_resource& resource) {
  if (from.type.is_variable())
    return error{errc::unsupported,
                 "strings live in host memory only; load or save them without a device"};
  ZARRPOINT_CHECK(byte_count(from.spec()));
  const packed_rows rows = packed_rows::of(from.shape, from.strides, from.type.size());
  staged out;
  out.view = {nullptr, from.type, from.shape, rows.strides, {}, {}};
  if (rows.bytes == 0) return out;
  ZARRPOINT_CHECK(from.space.check(from.data + rows.low, rows.cover));
  const bool one_copy = is_one_good_copy(rows);
  // One copy of everything between the first and the last element costs less than many small ones,
  // as long as what lies between is not the larger part.
  const bool may_be_whole = !one_copy && rows.cover / 2 <= rows.bytes;
  ZARRPOINT_TRY(owned, buffer::allocate(
                           may_be_whole ? std::max(rows.cover, rows.bytes) : rows.bytes, resource));
  stream_guard<Space> under_way(from.space);
  ZARRPOINT_CHECK(from.space.follow(from.ready));
  bool gathered = false;
  if (!one_copy) {
    ZARRPOINT_TRY(by_kernel, stage_by_kernel(from, rows, owned.data()));
    gathered = by_kernel;
  }
  out.view.data = owned.data() + rows.first;
  if (!gathered && may_be_whole) {
    ZARRPOINT_CHECK(
        from.space.copy_to_host(owned.data(), from.data + rows.low, {.width = rows.cover}));
    out.view.data = owned.data() - rows.low;
    out.view.strides = from.strides;
  } else if (!gathered) {
    ZARRPOINT_CHECK(rows.for_each_copy([&](index_t on_device, index_t on_host) {
      return from.space.copy_to_host(owned.data() + on_host, from.data + rows.low + on_device,
                                     rows.rows);
    }));
  }
  ZARRPOINT_CHECK(under_way.finish());
  out.owned = std::move(owned);
  return out;
}

template <device_space Space>
result<void> place_on_device(const mutable_tensor_view<Space>& to, const host_view& from,
                             memory_resource& resource) {
  ZARRPOINT_TRY(bytes, byte_count(to.spec()));
  const packed_rows rows = packed_rows::of(to.shape, to.strides, to.type.size());
  if (rows.bytes != bytes)
    return error{errc::invalid_argument,
                 "elements of the target overlap: its strides are " + to_string(to.strides)};
  if (bytes == 0) return {};
  ZARRPOINT_CHECK(to.space.check(to.data + rows.low, rows.cover));
  const bool same_order = is_dense(host_view{nullptr, to.type, to.shape, rows.strides, {}, {}});
  buffer reordered;
  stream_guard<Space> under_way(to.space);
  ZARRPOINT_CHECK(to.space.follow(to.ready));
  if (!same_order || !is_one_good_copy(rows)) {
    ZARRPOINT_TRY(moved, place_by_kernel(to, {from.data, bytes}));
    if (moved) return under_way.finish();
  }
  const std::byte* packed = from.data;
  if (!same_order) {
    ZARRPOINT_TRY(owned, buffer::allocate(bytes, resource));
    copy_elements({owned.data() + rows.first, to.type, to.shape, rows.strides, {}, {}}, from);
    reordered = std::move(owned);
    packed = reordered.data();
  }
  ZARRPOINT_CHECK(rows.for_each_copy([&](index_t on_device, index_t on_host) {
    return to.space.copy_from_host(to.data + rows.low + on_device, packed + on_host, rows.rows);
  }));
  return under_way.finish();
}

/// Copies a dense host array into a target of the same spec on a device, after what the target's
/// `ready` stands for, and waits until it is there. What the device cannot rearrange by itself is
/// reordered in as many bytes of `resource`. Errors: those of the space; `resource_limit`;
/// `invalid_argument` when the specs differ, `from` is not dense, or elements of `to` share memory.
template <device_space Space>
result<void> place_from_host(const mutable_tensor_view<Space>& to, const host_view& from,
                             memory_resource& resource = default_resource()) {
  if (to.type != from.type || to.shape != from.shape || !is_dense(from) || to.type.is_variable())
    return error{errc::invalid_argument, "cannot place " + to_string(from.spec()) + " into " +
                                             to_string(to.spec()) + " of a " + Space::name +
                                             " tensor"};
  return detail::place_on_device(to, from, resource);
}

}}}  // namespace zarrpoint::v0::detail
