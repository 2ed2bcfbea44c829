// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

namespace zarrpoint { inline namespace v0 {

/// Elements that the host can read: in memory of their own, or where they always were.
struct staged {
  host_view view;
  buffer owned;  ///< empty when nothing had to be copied
};

namespace detail {
template <class Space>
result<staged> stage_from_device(const tensor_view<Space>& from, memory_resource& resource);

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

}  // namespace detail

}}  // namespace zarrpoint::v0
