// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/sort.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sort_texts_test { namespace {

using namespace zarrpoint::detail;

struct leaf {
  std::string name;
  int number = 0;

  friend bool operator==(const leaf&, const leaf&) = default;
};

std::vector<leaf> sorted(std::vector<leaf> list) {
  sort_by_text(list, [](const leaf& one) -> std::string_view { return one.name; });
  return list;
}

TEST_CASE("sort_by_text: by bytes, equal names as they stood") {
  CHECK(sorted({}).empty());
  CHECK(sorted({{"b", 1}}) == std::vector<leaf>{{"b", 1}});
  CHECK(sorted({{"a", 1}, {"a", 2}, {"b", 3}}) == std::vector<leaf>{{"a", 1}, {"a", 2}, {"b", 3}});
  CHECK(sorted({{"b", 1}, {"", 2}, {"ab", 3}, {"b", 4}, {"a", 5}, {"\xc3\xa4", 6}, {"Z", 7}}) ==
        std::vector<leaf>{
            {"", 2}, {"Z", 7}, {"a", 5}, {"ab", 3}, {"b", 1}, {"b", 4}, {"\xc3\xa4", 6}});
}

TEST_CASE("sort_by_text: short names, which lie in the elements that move") {
  std::vector<leaf> list;
  for (int i = 0; i < 1000; ++i) list.push_back({std::to_string(i * 7919 % 1000 + 1000), i});
  list = sorted(std::move(list));
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(list[static_cast<std::size_t>(i)].name == std::to_string(i + 1000));
    REQUIRE(list[static_cast<std::size_t>(i)].number * 7919 % 1000 == i);
  }
}

TEST_CASE("find_twice: the second of two equal texts, by the place that it had") {
  std::vector<named_place> list{{"c", 0}, {"a", 1}, {"b", 2}, {"a", 3}};
  sort_texts(list);
  REQUIRE(find_twice(list) != nullptr);
  CHECK(find_twice(list)->text == "a");
  CHECK(find_twice(list)->place == 3);
  list = {{"c", 0}, {"a", 1}, {"", 2}};
  sort_texts(list);
  CHECK(list.front().place == 2);
  CHECK(find_twice(list) == nullptr);
  list.clear();
  CHECK(find_twice(list) == nullptr);
}

TEST_CASE("find_twice: in any order, and of texts whose hashes are alike") {
  std::vector<std::string> texts;
  // Those of NULs alone have one hash.
  for (std::size_t i = 0; i < 300; ++i) texts.emplace_back(i, '\0');
  for (std::size_t i = 0; i < 5000; ++i) texts.push_back(std::to_string(i * 7919 % 5000));
  const auto list = [&] {
    std::vector<named_place> out;
    for (const std::string& one : texts) out.push_back({one, out.size()});
    return out;
  };
  std::vector<named_place> distinct = list();
  CHECK(find_twice(distinct) == nullptr);
  for (const std::size_t again : {std::size_t{0}, std::size_t{299}, texts.size() - 1}) {
    texts.push_back(texts[again]);
    std::vector<named_place> two = list();
    const named_place* const twice = find_twice(two);
    REQUIRE(twice != nullptr);
    CHECK(twice->text == texts[again]);
    CHECK(twice->place == texts.size() - 1);
    texts.pop_back();
  }
}

TEST_CASE("sort_names: as std::sort does, of texts that are kept elsewhere, too") {
  std::vector<std::string> names;
  for (int i = 0; i < 500; ++i) names.push_back(std::to_string(i * 7919 % 500) + "\xff");
  names.insert(names.end(), {"", "a", "\x80", std::string(1, '\0'), "a"});
  std::vector<std::string> by_std = names;
  std::sort(by_std.begin(), by_std.end());
  std::vector<std::string_view> views(names.begin(), names.end());
  sort_names(views);
  CHECK(std::equal(views.begin(), views.end(), by_std.begin(), by_std.end()));
  sort_names(names);
  CHECK(names == by_std);
}

TEST_CASE("sort_by: as std::stable_sort does, for each number of elements") {
  std::uint32_t state = 1;
  for (std::size_t count = 0; count < 300; ++count) {
    std::vector<std::pair<std::string, std::size_t>> list;
    for (std::size_t i = 0; i < count; ++i) {
      state = state * 1664525 + 1013904223;
      list.emplace_back(std::to_string((state >> 16) % (1 + count / 3)), i);
    }
    auto by_std = list;
    const auto is_less = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::stable_sort(by_std.begin(), by_std.end(), is_less);
    sort_by(list, is_less);
    REQUIRE(list == by_std);
    sort_by(list, is_less);  // and what is in order
    REQUIRE(list == by_std);
    sort_by(list, [&](const auto& a, const auto& b) { return is_less(b, a); });
    std::stable_sort(by_std.begin(), by_std.end(),
                     [&](const auto& a, const auto& b) { return is_less(b, a); });
    REQUIRE(list == by_std);
  }
}

TEST_CASE("sorted_places: an order that contradicts itself ends, and gives each place once") {
  std::uint32_t state = 1;
  const auto any = [&](std::size_t, std::size_t) {
    state = state * 1664525 + 1013904223;
    return (state >> 16) % 2 == 0;
  };
  std::vector<std::size_t> places = sorted_places(1000, place_order(any));
  std::sort(places.begin(), places.end());
  REQUIRE(places.size() == 1000);
  for (std::size_t i = 0; i < places.size(); ++i) REQUIRE(places[i] == i);
}

}}  // namespace sort_texts_test
