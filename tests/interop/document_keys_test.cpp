// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/torch/torch_document.hpp>

#include "pickle_bytes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace document_keys_test {

using namespace zarrpoint;
using torch::detail::document_budget;
using torch::detail::document_keys;

namespace {

document_keys keys_of(const char* hex, document_budget& budget) {
  return document_keys::of(test::unpickle(test::from_hex(hex)).value(), budget).value();
}

}  // namespace

TEST_CASE("document_keys: texts as Python's json has them, the last of a key") {
  document_budget budget;
  // {"a": 1, 2: 2, True: 3, None: 4, 2.5: 5, "$x": 6}
  const document_keys keys = keys_of(
      "80049527000000000000007d94288c0161944b014b024b02884b034e4b044740040000000000004b058c02247894"
      "4b"
      "06752e",
      budget);
  CHECK(keys.are_text);
  CHECK(keys.texts == std::vector<std::string>{"a", "2", "true", "null", "2.5", "$x"});
  CHECK(keys.members == std::vector<std::size_t>{0, 1, 2, 3, 4, 5});
  CHECK(budget.text == 15);
}

TEST_CASE("document_keys: keys that are not text, or would be one, take nothing of the budget") {
  for (const char* hex : {
           "80049513000000000000007d94284b018c0161948c0131948c016294752e",    // {1: "a", "1": "b"}
           "8004950c000000000000007d944b014b0286944b03732e",                  // {(1, 2): 3}
           "80049514000000000000007d94288c022478944b018c03242478944b02752e",  // {"$x": 1, "$$x": 2}
       }) {
    CAPTURE(hex);
    document_budget budget;
    const document_keys keys = keys_of(hex, budget);
    CHECK_FALSE(keys.are_text);
    CHECK(keys.texts.empty());
    CHECK(budget.text == 0);
  }
}

TEST_CASE("document_keys: the budget ends, to the byte") {
  document_budget budget{.limits = {.max_text = 10}};
  CHECK(budget.charge(4));
  CHECK(budget.charge(6));
  const auto over = budget.charge(1);
  REQUIRE_FALSE(over);
  CHECK(over.failure().code == errc::resource_limit);
  CHECK_FALSE(budget.charge(UINT64_MAX));
  CHECK(budget.charge(0));
}

TEST_CASE("document_keys: words of a document are told from dicts that look like one") {
  const auto is_word = [](json::object members) {
    return torch::detail::is_document_word(json(std::move(members)));
  };
  CHECK(is_word({{"$", "hole"}}));
  CHECK(is_word({{"$", "float64"}, {"bits", "0123456789abcdef"}}));
  CHECK(is_word({{"$", "text"}, {"base64", "/w=="}}));
  CHECK_FALSE(is_word({{"$", "hole"}, {"x", 1}}));
  CHECK_FALSE(is_word({{"$", "float64"}, {"bits", "0123456789ABCDEF"}}));
  CHECK_FALSE(is_word({{"$", "text"}, {"base64", "?"}}));
  CHECK_FALSE(is_word({{"$", "text"}}));
  CHECK_FALSE(is_word({{"$", 1}}));
}

}  // namespace document_keys_test
