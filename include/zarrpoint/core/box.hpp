// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>

namespace zarrpoint { inline namespace v0 {

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

#if ZARRPOINT_BODIES
#include <zarrpoint/core/impl/box_impl.hpp>
#endif
