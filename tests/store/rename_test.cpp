// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/store_conformance.hpp"

#include <doctest/doctest.h>

namespace rename_test {

using namespace zarrpoint;

TEST_CASE("check_rename: neither the root, nor the same place, nor one within the other") {
  const memory_store store;
  const auto check = [&](std::string_view from, std::string_view to) {
    return detail::check_rename(store, test::key(from), test::key(to)).has_value();
  };
  CHECK(check("a", "b"));
  CHECK(check("a", "ab"));
  CHECK(check("a/b", "a/c"));
  for (const auto& [from, to] : {std::pair{"", "a"}, std::pair{"a", ""}, std::pair{"a", "a"},
                                 std::pair{"a", "a/b"}, std::pair{"a/b", "a"}})
    CHECK_FALSE(check(from, to));
}

}  // namespace rename_test
