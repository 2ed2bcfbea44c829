// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/checkpoint/load/read_leaf.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

// A stored leaf into a target: the mirror of stage, encode and write.

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE dims common_shape(const dims& stored, dims wanted) {
  for (std::size_t i = 0; i < wanted.rank(); ++i) wanted[i] = std::min(stored[i], wanted[i]);
  return wanted;
}

ZARRPOINT_INLINE void fill_with_zero(const mutable_host_view& view) {
  const std::vector<std::byte> zero(view.type.size());
  fill_elements(view, zero);
}

ZARRPOINT_INLINE result<void> read_to_host(const array& from, const mutable_host_view& into,
                                           const read_options& options) {
  const dims& stored = from.metadata().shape;
  if (stored == into.shape) return from.read(box::whole(stored), into, options);
  const dims common = common_shape(stored, into.shape);
  fill_with_zero(into);
  return from.read(box::whole(common), leading_part(into, common), options);
}

}}}  // namespace zarrpoint::v0::detail
