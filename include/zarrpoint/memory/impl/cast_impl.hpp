// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/types/convert.hpp>
#include <zarrpoint/core/types/float_bits.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/cast_x86.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE bool is_common(const dtype& type) {
  if (type == dtype_kind::float8_e4m3fn || type == dtype_kind::float8_e5m2) return true;
  return type.size() > 1 || (!type.is_floating() && !type.is_below_byte());
}

ZARRPOINT_INLINE int small_integer(std::uint8_t stored, const dtype& type) {
  const int unused = 8 - static_cast<int>(type.bits());
  const auto top = static_cast<std::uint8_t>(stored << unused);
  return (type.is_signed_integer() ? static_cast<std::int8_t>(top) : static_cast<int>(top)) >>
         unused;
}

ZARRPOINT_INLINE cast_function choose_cast(const dtype& to, const dtype& from) {
  const auto is_pair = [&](dtype_kind a, dtype_kind b) { return from == a && to == b; };
  using enum dtype_kind;
  if (is_pair(bfloat16, float32)) return cast_directly<float, v0::bfloat16>;
  if (is_pair(float32, bfloat16)) return cast_directly<v0::bfloat16, float>;
  if (is_pair(float16, float32)) return cast_directly<float, v0::float16>;
  if (is_pair(float32, float16)) return cast_directly<v0::float16, float>;
  if (from.is_floating() || from.is_complex()) return cast_by_way_of<double>;
  return from == uint64 ? cast_by_way_of<std::uint64_t> : cast_by_way_of<std::int64_t>;
}

ZARRPOINT_INLINE result<void> cast_elements(const mutable_host_view& to, const host_view& from) {
  if (to.shape != from.shape)
    return error{errc::shape_mismatch,
                 "cannot cast " + to_string(from.spec()) + " to " + to_string(to.spec())};
  if (to.type == from.type && to.type.valid()) {
    copy_elements(to, from);
    return {};
  }
  if (!from.type.is_number() || !to.type.is_number())
    return error{errc::unsupported, "no cast from " + std::string(to_string(from.type)) + " to " +
                                        std::string(to_string(to.type))};
  const detail::loop_nest nest(to.shape, to.strides, from.strides);
  const detail::loop_axis inner = nest.inner(0);
  const auto count = static_cast<std::size_t>(inner.count);
  const detail::cast_function cast = detail::choose_cast(to.type, from.type);
  const bool is_dense = inner.to == static_cast<index_t>(to.type.size()) &&
                        inner.from == static_cast<index_t>(from.type.size());
  const detail::dense_cast cast_run =
      is_dense ? detail::choose_dense_cast(to.type, from.type) : nullptr;
  nest.for_each_outer(1, [&](index_t to_offset, index_t from_offset) {
    const detail::target_run target{to.data + to_offset, inner.to, to.type};
    const detail::source_run source{from.data + from_offset, inner.from, from.type};
    std::size_t i = cast_run == nullptr ? 0 : cast_run(target.data, source.data, count);
    for (; i < count; i += detail::cast_block) {
      cast(target.from_element(i), source.from_element(i), std::min(detail::cast_block, count - i));
    }
    return true;
  });
  return {};
}

}}}  // namespace zarrpoint::v0::detail
