// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/device/device_read.hpp>
#include <zarrpoint/checkpoint/load/read_leaf.hpp>

// A stored leaf into a tensor on a device.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The same to a device: the elements are there when the event has happened, or to be read again
/// (see `device_share`). After an error nothing of it is under way.
template <device_space Space>
result<typename Space::event> start_to_device(const array& from,
                                              const mutable_tensor_view<Space>& into,
                                              const read_options& options,
                                              device_share<Space>& share) {
  const dims common = common_shape(from.metadata().shape, into.shape);
  if (common != into.shape) {
    device_read<Space> zeros(from, into, options);
    ZARRPOINT_CHECK(zeros.start_zero());
  }
  device_read<Space> elements(from, leading_part(into, common), options);
  elements.share(share);
  return elements.start(box::whole(common));
}

template <class Space>
result<void> read_to_device(const array& from, const mutable_tensor_view<Space>& into,
                            const read_options& options) {
  const auto start = [&](const read_options& how, device_share<Space>& share) {
    return start_to_device(from, into, how, share);
  };
  return read_and_wait(from, into.space, options, start);
}

}}}  // namespace zarrpoint::v0::detail
