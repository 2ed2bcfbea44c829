// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/base/listing.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace listing_test {

using namespace zarrpoint;

TEST_CASE("list_children: direct children, sorted, each once; it asks once for each") {
  std::set<std::string, std::less<>> keys{"a", "a-b", "a/b", "a/c/d", "b/x", "c.d/e", "c/z", "d"};
  for (int i = 0; i < 1000; ++i) keys.insert("many/" + std::to_string(i) + "/0");
  int asked = 0;
  const auto at_least = [&](std::string_view text) {
    ++asked;
    const auto at = keys.lower_bound(text);
    return at == keys.end() ? nullptr : &*at;
  };
  using entries = std::vector<list_entry>;
  CHECK(detail::list_children(store_key::root(), at_least) == entries{{"a", true},
                                                                      {"a-b", false},
                                                                      {"b", true},
                                                                      {"c", true},
                                                                      {"c.d", true},
                                                                      {"d", false},
                                                                      {"many", true}});
  CHECK(asked <= 9);
  const auto under = [&](std::string_view prefix) {
    return detail::list_children(store_key::parse(prefix).value(), at_least);
  };
  CHECK(under("a") == entries{{"b", false}, {"c", true}});
  CHECK(under("d").empty());
  CHECK(under("missing").empty());
  CHECK(under("many").size() == 1000);
}

}  // namespace listing_test
