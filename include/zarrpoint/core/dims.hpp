// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace zarrpoint::inline v0 {

/// An extent, a coordinate or a stride. Signed, as strides are; extents read from files are
/// checked to lie in [0, 2^63).
using index_t = std::int64_t;

/// The largest rank of an array: what TensorStore allows too.
inline constexpr std::size_t max_rank = 32;

/// One number per dimension: a shape, a coordinate, strides. Holds up to `max_rank` in place.
class dims {
 public:
  constexpr dims() = default;
  constexpr dims(std::initializer_list<index_t> values) { assign(values.begin(), values.end()); }
  constexpr explicit dims(std::span<const index_t> values) { assign(values.begin(), values.end()); }
  /// `rank` copies of `value`; `rank <= max_rank`.
  constexpr dims(std::size_t rank, index_t value) : rank_(rank) {
    ZARRPOINT_ASSERT(rank <= max_rank);
    std::fill_n(values_.begin(), rank, value);
  }
  /// From another range of integers, such as the `shape()` of a tensor; the rank must fit.
  template <class It>
  static constexpr dims from_range(It first, It last) {
    dims out;
    for (; first != last; ++first) out.push_back(static_cast<index_t>(*first));
    return out;
  }

  constexpr std::size_t rank() const noexcept { return rank_; }
  constexpr std::size_t size() const noexcept { return rank_; }
  constexpr bool empty() const noexcept { return rank_ == 0; }
  constexpr index_t operator[](std::size_t i) const noexcept {
    return ZARRPOINT_ASSERT(i < rank_), values_[i];
  }
  constexpr index_t& operator[](std::size_t i) noexcept {
    return ZARRPOINT_ASSERT(i < rank_), values_[i];
  }
  constexpr const index_t* begin() const noexcept { return values_.data(); }
  constexpr const index_t* end() const noexcept { return values_.data() + rank_; }
  constexpr index_t* begin() noexcept { return values_.data(); }
  constexpr index_t* end() noexcept { return values_.data() + rank_; }
  constexpr index_t back() const noexcept { return (*this)[rank_ - 1]; }
  constexpr operator std::span<const index_t>() const noexcept { return {values_.data(), rank_}; }

  constexpr void push_back(index_t value) {
    ZARRPOINT_ASSERT(rank_ < max_rank);
    values_[rank_++] = value;
  }
  constexpr void clear() noexcept { rank_ = 0; }

  friend constexpr bool operator==(const dims& a, const dims& b) noexcept {
    return a.rank_ == b.rank_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  template <class It>
  constexpr void assign(It first, It last) {
    for (; first != last; ++first) push_back(*first);
  }

  std::size_t rank_ = 0;
  std::array<index_t, max_rank> values_{};
};

/// `"[3, 4]"`; `"[]"` for rank 0.
inline std::string to_string(const dims& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.rank(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(values[i]);
  }
  return text += ']';
}

/// The number of elements of a shape: 1 for rank 0. Errors: `out_of_range` when an extent is
/// negative or the product does not fit in 63 bits. A zero anywhere gives 0.
inline result<index_t> element_count(const dims& shape) {
  index_t count = 1;
  bool has_zero = false;
  bool overflow = false;
  for (const index_t extent : shape) {
    if (extent < 0)
      return error{errc::out_of_range, "negative extent in shape " + to_string(shape)};
    has_zero = has_zero || extent == 0;
    overflow = __builtin_mul_overflow(count, extent, &count) || overflow;
  }
  if (has_zero) return index_t{0};
  if (overflow)
    return error{errc::out_of_range, "shape " + to_string(shape) + " has 2^63 elements or more"};
  return count;
}

/// The bytes of a dense array of that shape. Errors: `out_of_range`.
inline result<std::size_t> byte_count(const dims& shape, std::size_t element_size) {
  ZARRPOINT_TRY(count, element_count(shape));
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(count), element_size, &bytes) ||
      bytes > static_cast<std::size_t>(PTRDIFF_MAX))
    return error{errc::out_of_range, "shape " + to_string(shape) + " does not fit in memory"};
  return bytes;
}

/// Byte strides of a dense row-major array. The shape must have passed `byte_count`.
inline dims row_major_strides(const dims& shape, std::size_t element_size) {
  dims strides(shape.rank(), 0);
  // Unsigned, since the extents beside a 0 may be as large as a file likes to say; nothing is ever
  // addressed then.
  std::uint64_t stride = element_size;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    strides[i] = static_cast<index_t>(stride);
    stride *= static_cast<std::uint64_t>(std::max<index_t>(shape[i], 1));
  }
  return strides;
}

}  // namespace zarrpoint::inline v0
