// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/zip/zip_members.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace zip_members_test {

using namespace zarrpoint;
using detail::zip_members;

namespace {

zip_members::pointer member_in(detail::zip_space& space) {
  return std::make_shared<const detail::zip_written_member>(space);
}

std::vector<std::string> names_of(const zip_members& members) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < members.names(); ++i)
    if (members.nth(i).member != nullptr) out.push_back(members.nth(i).name);
  return out;
}

}  // namespace

TEST_CASE("zip_members: as a map by name, whatever is asked between") {
  detail::zip_space space;
  zip_members members;
  CHECK(members.find("a") == nullptr);
  CHECK(members.at_least("") == nullptr);
  CHECK_FALSE(members.erase("a"));
  std::map<std::string, zip_members::pointer, std::less<>> wanted;
  std::mt19937 random(5);
  const auto name = [&] {
    // Names that begin alike, end within each other, and have bytes that char has below zero.
    std::string out = random() % 8 == 0 ? "lay" : "layers/";
    for (auto i = random() % 12; i != 0; --i) out += "ab/\xff\x01"[random() % 5];
    return out;
  };
  for (int i = 0; i < 5000; ++i) {
    const std::string text = name();
    switch (random() % 8) {
      case 0: CHECK(members.erase(text) == (wanted.erase(text) == 1)); break;
      case 1: {
        const auto at = wanted.lower_bound(text);
        const zip_members::entry* const found = members.at_least(text);
        REQUIRE((found != nullptr) == (at != wanted.end()));
        if (found != nullptr) CHECK(found->name == at->first);
        break;
      }
      default: {
        const auto made = member_in(space);
        const auto before = members.put(members.key_of(text), made);
        const auto at = wanted.find(text);
        CHECK(before == (at == wanted.end() ? nullptr : at->second));
        wanted[text] = made;
      }
    }
    const auto at = wanted.find(text);
    CHECK(members.find(text) == (at == wanted.end() ? nullptr : at->second));
  }
  std::vector<std::string> sorted;
  for (const auto& [text, member] : wanted) sorted.push_back(text);
  CHECK(names_of(members) == sorted);
}

TEST_CASE("zip_members: one that is named again is where it was") {
  detail::zip_space space;
  zip_members members;
  for (const char* text : {"b", "", "a"}) members.put(members.key_of(text), member_in(space));
  CHECK(members.erase("a"));
  CHECK(names_of(members) == std::vector<std::string>{"", "b"});
  members.put(members.key_of("a"), member_in(space));
  CHECK(names_of(members) == std::vector<std::string>{"", "a", "b"});
}

TEST_CASE("zip_written_member: its room is free when it goes, if it had some") {
  detail::zip_space space;
  { const detail::zip_written_member none(space); }
  CHECK(space.tail() == 0);
  {
    const detail::zip_written_member one(space, space.allocate(30, 100, 64));
    CHECK(space.tail() == one.extent.end);
  }
  CHECK(space.tail() == 0);
}

}  // namespace zip_members_test
