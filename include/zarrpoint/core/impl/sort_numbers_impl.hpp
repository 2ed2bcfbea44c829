// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/sort_numbers.hpp>

#include <algorithm>
#include <span>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE void sort_numbers(std::span<numbered_place> list) {
  std::sort(list.data(), list.data() + list.size(),
            [](const numbered_place& a, const numbered_place& b) {
              return a.number != b.number ? a.number < b.number : a.place < b.place;
            });
}

}}}  // namespace zarrpoint::v0::detail
