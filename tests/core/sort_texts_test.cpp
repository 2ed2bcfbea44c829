// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/sort_texts.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
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

}}  // namespace sort_texts_test
