// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/dims.hpp>

#include <algorithm>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE bool box::empty() const noexcept {
  return std::any_of(shape.begin(), shape.end(), [](index_t n) { return n <= 0; });
}

ZARRPOINT_INLINE std::string to_string(const box& part) {
  std::string text = "[";
  for (std::size_t i = 0; i < part.rank(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(part.offset[i]) + ":";
    // Of hostile metadata the end may lie beyond what an index can say.
    index_t end = 0;
    if (__builtin_add_overflow(part.offset[i], part.shape[i], &end))
      text += std::to_string(static_cast<std::uint64_t>(part.offset[i]) +
                             static_cast<std::uint64_t>(part.shape[i]));
    else
      text += std::to_string(end);
  }
  return text += ']';
}

ZARRPOINT_INLINE result<void> selection::check(const dims& bounds) const {
  if (rank() != bounds.rank() || offset.rank() != rank() || step.rank() != rank())
    return error{errc::invalid_argument, "the selection has rank " + std::to_string(rank()) +
                                             ", the array has shape " + to_string(bounds)};
  for (std::size_t i = 0; i < rank(); ++i) {
    if (step[i] < 1 || shape[i] < 0 || offset[i] < 0)
      return error{errc::invalid_argument,
                   "a selection must have offsets and counts of 0 or more, and steps of 1 or more"};
    index_t last = 0;
    if (shape[i] == 0) {
      if (offset[i] > bounds[i]) return outside(bounds);
    } else if (__builtin_mul_overflow(shape[i] - 1, step[i], &last) ||
               __builtin_add_overflow(last, offset[i], &last) || last >= bounds[i]) {
      return outside(bounds);
    }
  }
  return {};
}

ZARRPOINT_INLINE error selection::outside(const dims& bounds) const {
  return {errc::out_of_range, "the selection (offset " + to_string(offset) + ", shape " +
                                  to_string(shape) + ", step " + to_string(step) +
                                  ") reaches beyond the array of shape " + to_string(bounds)};
}

}}  // namespace zarrpoint::v0
