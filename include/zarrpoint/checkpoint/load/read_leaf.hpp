// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_class.hpp>
#include <zarrpoint/array/base/options.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Zero everywhere, or the empty string.
void fill_with_zero(const mutable_host_view& view);

/// Reads the leaf into `into`. Its shape may differ from the stored one (same rank): what is beyond
/// is left out, what is missing is zero. Its dtype may differ where `options.cast` is set.
result<void> read_to_host(const array& from, const mutable_host_view& into,
                          const read_options& options);

/// What a stored shape and a wanted one of the same rank have in common.
dims common_shape(const dims& stored, dims wanted);

/// The first `extents` of `view`.
template <memory_space Space>
mutable_tensor_view<Space> leading_part(mutable_tensor_view<Space> view, const dims& extents) {
  view.shape = extents;
  return view;
}

/// Devices: defined in checkpoint/load/device_read_leaf.hpp.
template <class Space>
result<void> read_to_device(const array& from, const mutable_tensor_view<Space>& into,
                            const read_options& options);

template <memory_space Space>
result<void> read_to_space(const array& from, const mutable_tensor_view<Space>& into,
                           const read_options& options) {
  if constexpr (Space::host_accessible) {
    ZARRPOINT_CHECK(into.space.wait(into.ready));
    return read_to_host(from, {into.data, into.type, into.shape, into.strides, {}, {}}, options);
  } else {
    return read_to_device(from, into, options);
  }
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/array/device/device_values.hpp>
#include <zarrpoint/checkpoint/load/device_read_leaf.hpp>
#include <zarrpoint/checkpoint/load/impl/read_leaf_impl.hpp>
#endif
