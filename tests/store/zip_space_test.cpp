// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/zip/zip_members.hpp>

#include <doctest/doctest.h>

#include <random>
#include <vector>

namespace zip_space_test {

using namespace zarrpoint;

TEST_CASE("zip_space: aligned, and what is given back is used again") {
  detail::zip_space space;
  auto first = space.allocate(60, 100, 64);
  CHECK(first.header == 0);
  CHECK(first.data == 64);
  CHECK(first.end == 164);
  auto second = space.allocate(60, 10, 4096);
  CHECK(second.data == 4096);
  CHECK(second.header == 164);
  CHECK_FALSE(space.resize(first, 200));
  CHECK(space.resize(first, 100));
  CHECK(space.resize(second, 10'000));
  CHECK(space.tail() == 10'000);
  space.give_back(first);
  space.give_back(second);
  CHECK(space.tail() == 0);
}

TEST_CASE("zip_space: no two extents overlap, whatever is asked in whatever order") {
  std::mt19937 random(5);
  detail::zip_space space;
  std::vector<detail::zip_extent> held;
  for (int round = 0; round < 3000; ++round) {
    const auto pick = [&](std::size_t below) { return random() % below; };
    if (held.empty() || pick(3) != 0) {
      const auto made = space.allocate(56 + pick(300), pick(5000), pick(2) == 0 ? 64 : 4096);
      CHECK(made.data % 64 == 0);
      for (const auto& other : held)
        REQUIRE((made.end <= other.header || other.end <= made.header));
      held.push_back(made);
    } else {
      const std::size_t which = pick(held.size());
      if (pick(2) == 0) {
        auto& one = held[which];
        if (one.capacity() != 0) CHECK(space.resize(one, one.data + one.capacity() / 2));
      } else {
        space.give_back(held[which]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
      }
    }
  }
  for (const auto& one : held) space.give_back(one);
  CHECK(space.tail() == 0);
}

TEST_CASE("zip_space: what is given back after the end is not noted") {
  detail::zip_space space;
  const detail::zip_extent one = space.allocate(30, 100, 64);
  space.close();
  space.give_back(one);
  CHECK(space.tail() == one.end);
}

}  // namespace zip_space_test
