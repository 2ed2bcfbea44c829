// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/save/chunk_shape.hpp>
#include <zarrpoint/checkpoint/save/plan_layout.hpp>
#include <zarrpoint/interop/orbax_save/orbax_chunks.hpp>
#include <zarrpoint/interop/orbax_save/orbax_described.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

ZARRPOINT_INLINE result<dims> chunk_of_v2(std::string_view name, const tensor_spec& spec,
                                          const dims* local, const std::vector<leaf_rule>& rules) {
  const dims* const shape = v0::detail::last_set(rules, name, &leaf_rule::chunk_shape);
  if (shape != nullptr) {
    const bool is_valid =
        shape->rank() == spec.shape.rank() &&
        std::all_of(shape->begin(), shape->end(), [](index_t n) { return n > 0; });
    if (!is_valid)
      return bad_tree("chunk_shape " + to_string(*shape) + " does not fit the shape " +
                      to_string(spec.shape));
    return *shape;
  }
  const std::uint64_t* const bytes = v0::detail::last_set(rules, name, &leaf_rule::chunk_byte_size);
  if (bytes != nullptr)
    return v0::detail::greedy_chunk_shape(spec, local != nullptr ? *local : spec.shape, *bytes);
  return local != nullptr ? *local : v0::detail::whole_chunk_shape(spec);
}

ZARRPOINT_INLINE std::optional<dims> largest_chunk(const std::optional<dims>& of_device,
                                                   const dims& unit, const dims& shape) {
  if (unit.empty()) return of_device;
  dims out = shape;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    const index_t device = of_device && (*of_device)[d] != shape[d] ? (*of_device)[d] : 0;
    if (const index_t both = std::gcd(device, unit[d]); both != 0) out[d] = both;
  }
  return out;
}

ZARRPOINT_INLINE dims part_of_v2(const tensor_spec& spec, const dims& unit) {
  dims out = v0::detail::contiguous_chunk_shape(spec, std::uint64_t{64} << 20);
  for (std::size_t d = 0; d < out.rank(); ++d) {
    if (unit[d] == 0) continue;
    const index_t all = std::max<index_t>(spec.shape[d], 1);
    const index_t most = out[d];
    out[d] = v0::detail::largest_divisor(all, most);
    // Of a prime number of rows there is no part but a row: one large object is better.
    if (out[d] < most / 8) out[d] = all;
  }
  return out;
}

ZARRPOINT_INLINE result<void> check_units(const dims& chunk, const dims& unit) {
  for (std::size_t d = 0; d < unit.rank(); ++d) {
    if (unit[d] == 0 || unit[d] % chunk[d] == 0) continue;
    return bad_tree("a chunk of its shape " + to_string(chunk) +
                    " would have elements of two boxes that are written by themselves: along "
                    "axis " +
                    std::to_string(d) + " they begin at multiples of " + std::to_string(unit[d]) +
                    ", which a rule's shape must divide");
  }
  return {};
}

ZARRPOINT_INLINE bool are_many_small(const array_metadata& of, index_t largest) {
  constexpr index_t small_bytes = 64 << 10;
  constexpr index_t many = 16;
  const index_t elements = element_count(of.chunk_shape).value_or(INT64_MAX);
  const auto size = static_cast<index_t>(std::max<std::size_t>(of.type.size(), 1));
  return elements > 0 && elements < small_bytes / size && largest / elements >= many;
}

}}}}  // namespace zarrpoint::v0::orbax::detail
