// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/handler/staging.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

// A stored leaf into a target: the mirror of stage, encode and write.

namespace zarrpoint::inline v0::detail {

/// Zero everywhere, or the empty string.
inline void fill_with_zero(const mutable_host_view& view) {
  const std::array<std::byte, 16> zero{};
  fill_elements(view, bytes_view(zero).first(view.type.size()));
}

/// The first `extents` of `view`.
inline mutable_host_view leading_part(mutable_host_view view, const dims& extents) {
  view.shape = extents;
  return view;
}

/// Reads the leaf into `into`. Its shape may differ from the stored one (same rank): what is beyond
/// is left out, what is missing is zero. Its dtype may differ where `options.cast` is set.
template <class = void>
result<void> read_to_host(const array& from, const mutable_host_view& into,
                          const read_options& options) {
  const dims& stored = from.metadata().shape;
  if (stored == into.shape) return from.read(box::whole(stored), into, options);
  dims common = into.shape;
  for (std::size_t i = 0; i < common.rank(); ++i) common[i] = std::min(stored[i], into.shape[i]);
  fill_with_zero(into);
  return from.read(box::whole(common), leading_part(into, common), options);
}

/// The same into any memory space: through a host tensor where the host cannot write there.
template <memory_space Space>
result<void> read_to_space(const array& from, const mutable_tensor_view<Space>& into,
                           const read_options& options, memory_resource& staging) {
  if constexpr (Space::host_accessible) {
    ZARRPOINT_CHECK(into.space.wait(into.ready));
    return read_to_host(from, {into.data, into.type, into.shape, into.strides, {}, {}}, options);
  } else {
    ZARRPOINT_TRY(host, tensor::make(into.spec(), staging));
    ZARRPOINT_CHECK(read_to_host(from, host.mutable_view(), options));
    return place_from_host(into, host.view(), staging);
  }
}

}  // namespace zarrpoint::inline v0::detail
