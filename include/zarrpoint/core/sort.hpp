// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A text, and the place in a list of what it is the name of.
struct named_place {
  std::string_view text;
  std::size_t place = 0;
};

/// By text, then by place. The lists of names are all sorted here, since `std::sort` takes more
/// than a KiB for each type that it sorts.
void sort_texts(std::vector<named_place>& list);

/// The second of two equal texts, or null. The list is in any order; the call may change it.
const named_place* find_twice(std::vector<named_place>& list);

/// Sorts a list by the text that `text_of` sees in each of its elements; equal ones stay in order.
template <class T, class F>
void sort_by_text(std::vector<T>& list, F text_of) {
  std::size_t i = 1;
  while (i < list.size() && !(text_of(list[i]) < text_of(list[i - 1]))) ++i;
  if (i >= list.size()) return;
  std::vector<named_place> order;
  order.reserve(list.size());
  for (const T& one : list) order.push_back({text_of(one), order.size()});
  sort_texts(order);
  std::vector<T> out;
  out.reserve(list.size());
  for (const named_place& one : order) out.push_back(std::move(list[one.place]));
  list = std::move(out);
}

/// Sorts names.
void sort_names(std::vector<std::string>& list);
void sort_names(std::vector<std::string_view>& list);

/// Whether one element of a list comes before another, both told by their places.
class place_order {
 public:
  /// `before(a, b)` must live as long as this.
  template <class F>
  explicit place_order(const F& before)
      : before_(&before), call_([](const void* f, std::size_t a, std::size_t b) -> bool {
          return (*static_cast<const F*>(f))(a, b);
        }) {}

  bool operator()(std::size_t a, std::size_t b) const { return call_(before_, a, b); }

 private:
  const void* before_;
  bool (*call_)(const void* before, std::size_t a, std::size_t b);
};

/// The places of `count` elements in their order; equal ones stay as they stood.
std::vector<std::size_t> sorted_places(std::size_t count, place_order before);

/// Sorts a list by `before(a, b)`; equal elements stay in order. For lists that are not hot. One
/// function sorts them all, by a call for each comparison, where `std::sort` and `std::stable_sort`
/// take some KiB, and an eighth of a second of the compiler, for each type.
template <class T, class F>
void sort_by(std::vector<T>& list, const F& before) {
  std::size_t i = 1;
  while (i < list.size() && !before(list[i], list[i - 1])) ++i;
  if (i >= list.size()) return;
  const auto of_places = [&](std::size_t a, std::size_t b) { return before(list[a], list[b]); };
  std::vector<T> out;
  out.reserve(list.size());
  for (const std::size_t place : sorted_places(list.size(), place_order(of_places)))
    out.push_back(std::move(list[place]));
  list = std::move(out);
}

/// A number, most often an offset in a file, and the place in a list of what it belongs to.
struct numbered_place {
  std::uint64_t number;
  std::size_t place;
};

/// By number, then by place. What lies in files is all sorted here, since `std::sort` takes more
/// than a KiB for each type that it sorts.
void sort_numbers(std::span<numbered_place> list);

}}}  // namespace zarrpoint::v0::detail
