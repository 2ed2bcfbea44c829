// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

namespace shown_names_test {

using namespace zarrpoint;
using texts = std::vector<std::string>;

TEST_CASE("shown names: keys stay as they are, in any order") {
  const texts keys{"b/c", "a", "b/d/e", "model.layers.0.weight", "c", "b~2", "50%"};
  CHECK(detail::shown_names(keys) == keys);
}

TEST_CASE("shown names: a name that is made never takes one that is there") {
  CHECK(detail::shown_names({"a\\b", "a%5Cb"}) == texts{"a%5Cb~2", "a%5Cb"});
  CHECK(detail::shown_names({"a\\b", "a%5Cb/c"}) == texts{"a%5Cb~2", "a%5Cb/c"});
  CHECK(detail::shown_names({"a", "a", "a~2", "a"}) == texts{"a", "a~3", "a~2", "a~4"});
  CHECK(detail::shown_names({"a/b", "a", "a/b/c", "a%2Fb"}) ==
        texts{"a%2Fb~2", "a", "a%2Fb%2Fc", "a%2Fb"});
}

TEST_CASE("shown names: random names all become different keys, none beneath another") {
  std::mt19937_64 random(7);
  const std::string letters("ab/./%~\\\n\xff\0z", 13);
  for (int round = 0; round < 2000; ++round) {
    texts names(random() % 12);
    for (std::string& name : names) {
      name.resize(random() % 100 == 0 ? random() % 3000 : random() % 6);
      for (char& c : name) c = letters[random() % letters.size()];
    }
    const texts shown = detail::shown_names(names);
    REQUIRE(shown.size() == names.size());
    const std::set<std::string> all(shown.begin(), shown.end());
    CHECK(all.size() == shown.size());
    for (const std::string& one : shown) {
      CAPTURE(one);
      CHECK(store_key::parse(one));
      CHECK(!one.empty());
      CHECK(one.size() <= detail::max_leaf_name);
      for (std::size_t at = one.find('/'); at != one.npos; at = one.find('/', at + 1))
        CHECK(!all.contains(one.substr(0, at)));
    }
  }
}

}  // namespace shown_names_test
