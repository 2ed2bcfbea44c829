// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/sort_texts.hpp>

#include <algorithm>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE void sort_texts(std::vector<named_place>& list) {
  std::sort(list.begin(), list.end(), [](const named_place& a, const named_place& b) {
    const int order = a.text.compare(b.text);
    return order != 0 ? order < 0 : a.place < b.place;
  });
}

ZARRPOINT_INLINE const named_place* find_twice(const std::vector<named_place>& sorted) {
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].text == sorted[i - 1].text) return &sorted[i];
  return nullptr;
}

}}}  // namespace zarrpoint::v0::detail
