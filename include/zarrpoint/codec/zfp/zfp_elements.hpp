// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

// Elements as zfp takes them, dense and of one of its four types, and back.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// Integers of `bits` bits as the upper ones of an int32, and back (zarr-extensions, "zfp").
template <class T>
void promote_for_zfp(std::int32_t* to, const T* from, std::size_t count) {
  constexpr int shift = 31 - std::numeric_limits<std::make_unsigned_t<T>>::digits;
  constexpr std::int32_t half = std::is_signed_v<T> ? 0 : 1 << (std::numeric_limits<T>::digits - 1);
  for (std::size_t i = 0; i < count; ++i) to[i] = (std::int32_t{from[i]} - half) * (1 << shift);
}
template <class T>
void demote_from_zfp(T* to, const std::int32_t* from, std::size_t count) {
  constexpr int shift = 31 - std::numeric_limits<std::make_unsigned_t<T>>::digits;
  constexpr std::int32_t half = std::is_signed_v<T> ? 0 : 1 << (std::numeric_limits<T>::digits - 1);
  for (std::size_t i = 0; i < count; ++i)
    to[i] = static_cast<T>(std::clamp<std::int32_t>(
        (from[i] >> shift) + half, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

/// Calls `f(T{})` with the integer type of fewer than 32 bits; false for other types.
template <class F>
bool with_small_integer(const dtype& type, F&& f) {
  switch (type.kind()) {
    case dtype_kind::int8: f(std::int8_t{}); return true;
    case dtype_kind::uint8: f(std::uint8_t{}); return true;
    case dtype_kind::int16: f(std::int16_t{}); return true;
    case dtype_kind::uint16: f(std::uint16_t{}); return true;
    default: return false;
  }
}

/// Whether zfp, which sees an array of numbers, can work on memory of a caller.
inline bool is_zfp_aligned(const void* data, std::size_t size) {
  return reinterpret_cast<std::uintptr_t>(data) % size == 0;
}

/// What zfp is to see of `view`, dense; `held` is the memory of a copy.
inline result<const std::byte*> elements_for_zfp(const host_view& view, buffer& held,
                                                 memory_resource& memory) {
  ZARRPOINT_TRY(count, element_count(view.shape));
  const auto n = static_cast<std::size_t>(count);
  const std::byte* data = view.data;
  if (!is_dense(view) || !is_zfp_aligned(data, view.type.size())) {
    ZARRPOINT_TRY(copy, buffer::allocate(n * view.type.size(), memory));
    copy_elements(dense_view(copy.bytes().data(), view.spec()), view);
    held = std::move(copy);
    data = held.bytes().data();
  }
  if (view.type.size() < 4) {
    ZARRPOINT_TRY(wide, buffer::allocate(n * 4, memory));
    auto* const to = reinterpret_cast<std::int32_t*>(wide.bytes().data());
    with_small_integer(
        view.type, [&]<class T>(T) { promote_for_zfp(to, reinterpret_cast<const T*>(data), n); });
    held = std::move(wide);
    return held.bytes().data();
  }
  if (view.type.is_unsigned_integer()) {
    // The highest bit is that of the sign.
    const std::size_t size = view.type.size();
    for (std::size_t i = 0; i < n; ++i) {
      if ((data[i * size + size - 1] & std::byte{0x80}) != std::byte{})
        return error{errc::out_of_range,
                     "an unsigned integer is too large: zfp has signed types only"};
    }
  }
  return data;
}

/// `from` is dense, in the type of `zfp_type_of`.
inline void elements_from_zfp(const mutable_host_view& to, mutable_bytes from) {
  const std::size_t n = from.size() / (to.type.size() < 4 ? 4 : to.type.size());
  if (to.type.size() < 4) {
    // Forwards in place: narrow elements end before the wide ones that are still to be read.
    with_small_integer(to.type, [&]<class T>(T) {
      for (std::size_t i = 0; i < n; ++i) {
        std::int32_t wide = 0;
        T narrow{};
        std::memcpy(&wide, from.data() + 4 * i, sizeof wide);
        demote_from_zfp(&narrow, &wide, 1);
        std::memcpy(from.data() + i * sizeof narrow, &narrow, sizeof narrow);
      }
    });
  } else if (to.type.is_unsigned_integer()) {
    const std::size_t size = to.type.size();
    for (std::size_t i = 0; i < n; ++i) {
      std::byte* const one = from.data() + i * size;
      if ((one[size - 1] & std::byte{0x80}) != std::byte{}) std::memset(one, 0, size);
    }
  }
  copy_elements(to, dense_view(std::as_const(from).data(), to.spec()));
}

}}}  // namespace zarrpoint::v0::detail
