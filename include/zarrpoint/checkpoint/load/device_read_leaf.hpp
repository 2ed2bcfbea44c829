// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/device/device_read.hpp>
#include <zarrpoint/checkpoint/load/read_leaf.hpp>

#include <climits>

// A stored leaf into a tensor on a device.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The same to a device, by at most `workers` at a time: the elements are there when the event has
/// happened. After an error nothing of it is under way.
template <device_space Space>
result<typename Space::event> start_to_device(const array& from,
                                              const mutable_tensor_view<Space>& into,
                                              const read_options& options, unsigned workers) {
  const dims common = common_shape(from.metadata().shape, into.shape);
  if (common != into.shape) {
    device_read<Space> zeros(from, into, options);
    ZARRPOINT_CHECK(zeros.start_zero());
  }
  device_read<Space> elements(from, leading_part(into, common), options);
  elements.limit_workers(workers);
  return elements.start(box::whole(common));
}

template <class Space>
result<void> read_to_device(const array& from, const mutable_tensor_view<Space>& into,
                            const read_options& options) {
  ZARRPOINT_TRY(last, start_to_device(from, into, options, UINT_MAX));
  return into.space.wait(last).at("array " + from.store().describe(from.key()));
}

}}}  // namespace zarrpoint::v0::detail
