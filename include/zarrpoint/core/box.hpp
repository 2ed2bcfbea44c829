// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>

namespace zarrpoint { inline namespace v0 {

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
std::string to_string(const dims& values);

/// The number of elements of a shape: 1 for rank 0. Errors: `out_of_range` when an extent is
/// negative or the product does not fit in 63 bits. A zero anywhere gives 0.
result<index_t> element_count(const dims& shape);

/// The bytes of a dense array of that shape. Errors: `out_of_range`.
result<std::size_t> byte_count(const dims& shape, std::size_t element_size);

/// Byte strides of a dense row-major array. The shape must have passed `byte_count`.
dims row_major_strides(const dims& shape, std::size_t element_size);

/// An axis-aligned part of an array: `offset` and `shape`, of one rank.
struct box {
  dims offset;
  dims shape;

  /// The whole of an array of `shape`.
  static box whole(const dims& shape) { return {dims(shape.rank(), 0), shape}; }
  std::size_t rank() const noexcept { return shape.rank(); }
  bool empty() const noexcept;
  friend bool operator==(const box&, const box&) = default;
};

/// `"[2:5, 0:7]"`.
std::string to_string(const box& part);

/// A box with a step per dimension: element `i` of the result is `offset + i * step`. `shape`
/// counts the elements selected; steps are 1 or more.
struct selection {
  dims offset;
  dims shape;
  dims step;

  selection() = default;
  selection(const box& part) : offset(part.offset), shape(part.shape), step(part.rank(), 1) {}
  selection(dims first, dims count, dims steps) : offset(first), shape(count), step(steps) {}
  std::size_t rank() const noexcept { return shape.rank(); }

  /// Errors: `invalid_argument` on ranks or steps that make no sense, `out_of_range` when it leaves
  /// an array of shape `bounds`.
  result<void> check(const dims& bounds) const;

 private:
  error outside(const dims& bounds) const;
};

}}  // namespace zarrpoint::v0
