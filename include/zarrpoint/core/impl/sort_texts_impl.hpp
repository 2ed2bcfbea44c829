// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/sort_texts.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE void sort_texts(std::vector<named_place>& list) {
  std::sort(list.begin(), list.end(), [](const named_place& a, const named_place& b) {
    const int order = a.text.compare(b.text);
    return order != 0 ? order < 0 : a.place < b.place;
  });
}

ZARRPOINT_INLINE void sort_names(std::vector<std::string>& list) {
  sort_by_text(list, [](const std::string& one) -> std::string_view { return one; });
}

ZARRPOINT_INLINE void sort_names(std::vector<std::string_view>& list) {
  sort_by_text(list, [](std::string_view one) { return one; });
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

ZARRPOINT_INLINE std::vector<std::size_t> sorted_places(std::size_t count, place_order before) {
  std::vector<std::size_t> from(count), to(count);
  for (std::size_t i = 0; i < count; ++i) from[i] = i;
  // Runs of `width` are sorted; each pass merges two and two of them.
  for (std::size_t width = 1; width < count; width += width) {
    for (std::size_t begin = 0; begin < count;) {
      const std::size_t middle = count - begin > width ? begin + width : count;
      const std::size_t end = count - middle > width ? middle + width : count;
      std::size_t left = begin, right = middle;
      // Most lists are nearly in order.
      if (right < end && !before(from[right], from[right - 1])) right = end;
      for (std::size_t at = begin; at < end; ++at) {
        const bool is_right = right < end && (left == middle || before(from[right], from[left]));
        to[at] = from[is_right ? right++ : left++];
      }
      begin = end;
    }
    from.swap(to);
  }
  return from;
}

}}}  // namespace zarrpoint::v0::detail
