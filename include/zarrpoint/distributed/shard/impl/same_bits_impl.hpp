// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/shard/same_bits.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstring>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE bool same_bits(const host_view& a, const host_view& b) {
  if (a.spec() != b.spec()) return false;
  const detail::loop_nest nest(a.shape, a.strides, b.strides);
  if (a.type.is_variable()) {
    return nest.for_each_outer(0, [&](index_t in_a, index_t in_b) {
      return detail::string_at(a.data, in_a) == detail::string_at(b.data, in_b);
    });
  }
  const std::size_t size = a.type.size();
  const detail::loop_axis inner = nest.inner(0);
  const auto stride = static_cast<index_t>(size);
  const bool is_run = nest.rank > 0 && inner.to == stride && inner.from == stride;
  return nest.for_each_outer(is_run ? 1 : 0, [&](index_t in_a, index_t in_b) {
    const std::size_t bytes = is_run ? static_cast<std::size_t>(inner.count) * size : size;
    return std::memcmp(a.data + in_a, b.data + in_b, bytes) == 0;
  });
}

}}}  // namespace zarrpoint::v0::detail
