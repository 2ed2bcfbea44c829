// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/memory/byteswap.hpp>
#include <zarrpoint/memory/loop_nest.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/memory/transpose_block.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Writes `count` copies of one element of `size` bytes, one after another.
ZARRPOINT_INLINE void fill_run(std::byte* to, const std::byte* element, std::size_t size,
                               index_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * size;
  if (std::all_of(element, element + size, [&](std::byte b) { return b == element[0]; })) {
    std::memset(to, static_cast<int>(element[0]), bytes);
    return;
  }
  // Doubles what is there, up to a block that stays in the first level of the cache.
  constexpr std::size_t block = 4096;
  std::memcpy(to, element, size);
  std::size_t done = size;
  while (done < bytes) {
    const std::size_t step = std::min({done, bytes - done, block});
    std::memcpy(to + done, to, step);
    done += step;
  }
}

/// The two innermost axes, for elements of `Size` bytes.
template <std::size_t Size>
void copy_plane(std::byte* to, const std::byte* from, const loop_axis& outer,
                const loop_axis& inner) {
  constexpr auto size = static_cast<index_t>(Size);
  const matrix<std::byte*> to_plane{to, outer.to, inner.to};
  const matrix<const std::byte*> from_plane{from, outer.from, inner.from};
  if (inner.from == 0 && inner.to == size) {
    for (index_t i = 0; i < outer.count; ++i) {
      fill_run(to_plane.at(i, 0), from_plane.at(i, 0), Size, inner.count);
    }
  } else if (magnitude(outer.from) < magnitude(inner.from) && outer.count > 1) {
    transpose_matrix<Size>(to_plane, from_plane, outer.count, inner.count);
  } else {
    copy_matrix<Size>(to_plane, from_plane, outer.count, inner.count);
  }
}

/// Brings the axis along which `from` runs fastest next to the innermost, along which `to` does.
ZARRPOINT_INLINE void pair_fastest_axes(loop_nest& nest) {
  std::size_t fastest = nest.rank;
  for (std::size_t i = nest.rank; i-- > 0;) {
    const index_t stride = magnitude(nest.axes[i].from);
    if (stride != 0 && (fastest == nest.rank || stride < magnitude(nest.axes[fastest].from)))
      fastest = i;
  }
  if (fastest + 1 < nest.rank) nest.move_to_second(fastest);
}

/// Whole runs of bytes: the innermost axis is contiguous on both sides and gone from the nest.
ZARRPOINT_INLINE void copy_runs(std::byte* to, const std::byte* from, const loop_nest& nest,
                                std::size_t bytes) {
  const loop_axis axis = nest.inner(0);
  nest.for_each_outer(1, [&](index_t to_offset, index_t from_offset) {
    for (index_t i = 0; i < axis.count; ++i) {
      std::memcpy(to + (to_offset + i * axis.to), from + (from_offset + i * axis.from), bytes);
    }
    return true;
  });
}

template <std::size_t Size>
void copy_sized(std::byte* to, const std::byte* from, loop_nest& nest) {
  pair_fastest_axes(nest);
  nest.for_each_outer(2, [&](index_t to_offset, index_t from_offset) {
    copy_plane<Size>(to + to_offset, from + from_offset, nest.inner(1), nest.inner(0));
    return true;
  });
}

ZARRPOINT_INLINE void copy_bytes(std::byte* to, const std::byte* from, loop_nest& nest,
                                 std::size_t size) {
  if (nest.empty) return;
  const loop_axis inner = nest.inner(0);
  const auto stride = static_cast<index_t>(size);
  std::size_t run = size;
  if (nest.rank > 0 && inner.to == stride && inner.from == stride) {
    run = static_cast<std::size_t>(inner.count) * size;
    nest.drop_innermost();
  }
  switch (run) {
    case 1: return copy_sized<1>(to, from, nest);
    case 2: return copy_sized<2>(to, from, nest);
    case 4: return copy_sized<4>(to, from, nest);
    case 8: return copy_sized<8>(to, from, nest);
    case 16: return copy_sized<16>(to, from, nest);
    default: return copy_runs(to, from, nest, run);
  }
}

ZARRPOINT_INLINE std::string& string_at(std::byte* data, index_t offset) {
  return *reinterpret_cast<std::string*>(data + offset);
}

ZARRPOINT_INLINE const std::string& string_at(const std::byte* data, index_t offset) {
  return *reinterpret_cast<const std::string*>(data + offset);
}

}  // namespace detail

ZARRPOINT_INLINE void copy_elements(const mutable_host_view& to, const host_view& from) {
  ZARRPOINT_ASSERT(to.type == from.type && to.shape == from.shape);
  detail::loop_nest nest(to.shape, to.strides, from.strides);
  if (to.type.is_variable()) {
    nest.for_each_outer(0, [&](index_t to_offset, index_t from_offset) {
      detail::string_at(to.data, to_offset) = detail::string_at(from.data, from_offset);
      return true;
    });
    return;
  }
  detail::copy_bytes(to.data, from.data, nest, to.type.size());
}

ZARRPOINT_INLINE void fill_elements(const mutable_host_view& to, bytes_view element) {
  const dims no_strides(to.rank(), 0);
  detail::loop_nest nest(to.shape, to.strides, no_strides);
  if (to.type.is_variable()) {
    nest.for_each_outer(0, [&](index_t offset, index_t) {
      detail::string_at(to.data, offset) = as_text(element);
      return true;
    });
    return;
  }
  ZARRPOINT_ASSERT(element.size() == to.type.size());
  detail::copy_bytes(to.data, element.data(), nest, to.type.size());
}

namespace detail {

ZARRPOINT_INLINE bool all_equal(const host_view& of, bytes_view element) {
  const detail::loop_nest nest(of.shape, of.strides, dims(of.rank(), 0));
  if (of.type.is_variable()) {
    return nest.for_each_outer(0, [&](index_t offset, index_t) {
      return detail::string_at(of.data, offset) == as_text(element);
    });
  }
  ZARRPOINT_ASSERT(element.size() == of.type.size());
  const std::size_t size = element.size();
  const detail::loop_axis inner = nest.inner(0);
  const bool is_run = nest.rank > 0 && inner.to == static_cast<index_t>(size);
  return nest.for_each_outer(1, [&](index_t offset, index_t) {
    const std::byte* const first = of.data + offset;
    if (std::memcmp(first, element.data(), size) != 0) return false;
    // A run equals its first element throughout when it equals itself one element on.
    if (is_run) {
      return std::memcmp(first, first + size, static_cast<std::size_t>(inner.count - 1) * size) ==
             0;
    }
    for (index_t i = 1; i < inner.count; ++i) {
      if (std::memcmp(first + i * inner.to, element.data(), size) != 0) return false;
    }
    return true;
  });
}

}  // namespace detail

}}  // namespace zarrpoint::v0
