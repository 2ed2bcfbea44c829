// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/device_read.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <vector>

// A stored leaf into a target: the mirror of stage, encode and write.

namespace zarrpoint::inline v0::detail {

/// Zero everywhere, or the empty string.
inline void fill_with_zero(const mutable_host_view& view) {
  const std::vector<std::byte> zero(view.type.size());
  fill_elements(view, zero);
}

/// The first `extents` of `view`.
template <memory_space Space>
mutable_tensor_view<Space> leading_part(mutable_tensor_view<Space> view, const dims& extents) {
  view.shape = extents;
  return view;
}

/// What a stored shape and a wanted one of the same rank have in common.
inline dims common_shape(const dims& stored, dims wanted) {
  for (std::size_t i = 0; i < wanted.rank(); ++i) wanted[i] = std::min(stored[i], wanted[i]);
  return wanted;
}

/// Reads the leaf into `into`. Its shape may differ from the stored one (same rank): what is beyond
/// is left out, what is missing is zero. Its dtype may differ where `options.cast` is set.
template <class = void>
result<void> read_to_host(const array& from, const mutable_host_view& into,
                          const read_options& options) {
  const dims& stored = from.metadata().shape;
  if (stored == into.shape) return from.read(box::whole(stored), into, options);
  const dims common = common_shape(stored, into.shape);
  fill_with_zero(into);
  return from.read(box::whole(common), leading_part(into, common), options);
}

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

/// The same into any memory space. Returns when the elements are there.
template <memory_space Space>
result<void> read_to_space(const array& from, const mutable_tensor_view<Space>& into,
                           const read_options& options) {
  if constexpr (Space::host_accessible) {
    ZARRPOINT_CHECK(into.space.wait(into.ready));
    return read_to_host(from, {into.data, into.type, into.shape, into.strides, {}, {}}, options);
  } else {
    ZARRPOINT_TRY(last, start_to_device(from, into, options, UINT_MAX));
    return into.space.wait(last).at("array " + from.store().describe(from.key()));
  }
}

}  // namespace zarrpoint::inline v0::detail
