// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/sort_texts.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE void sort_texts(std::vector<named_place>& list) {
  std::sort(list.begin(), list.end(), [](const named_place& a, const named_place& b) {
    const int order = a.text.compare(b.text);
    return order != 0 ? order < 0 : a.place < b.place;
  });
}

ZARRPOINT_INLINE const named_place* find_twice(std::vector<named_place>& list) {
  // A slot holds a place plus one, and zero is free. A text lies where its hash says, or behind.
  std::size_t size = 1;
  while (size < 2 * list.size()) size *= 2;
  std::vector<std::size_t> slots(size);
  std::size_t steps = 8 * list.size();
  for (std::size_t place = 0; place < list.size() && steps != 0;) {
    const named_place& one = list[place++];
    std::size_t at = 0;
    for (const char c : one.text)
      at = (at ^ static_cast<unsigned char>(c)) * static_cast<std::size_t>(0x100000001b3U);
    for (at ^= at >> (sizeof(at) * 4); slots[at &= size - 1] != 0 && steps != 0; ++at, --steps)
      if (list[slots[at] - 1].text == one.text) return &one;
    slots[at] = place;
  }
  if (steps != 0) return nullptr;
  // Too many hashes are alike, as if somebody made them so.
  sort_texts(list);
  for (std::size_t i = 1; i < list.size(); ++i)
    if (list[i].text == list[i - 1].text) return &list[i];
  return nullptr;
}

}}}  // namespace zarrpoint::v0::detail
