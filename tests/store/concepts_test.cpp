// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/base/concepts.hpp>

#include "support/toy_store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace concepts_test {

using namespace zarrpoint;

namespace {

struct reader {
  result<std::unique_ptr<blob>> open(const store_key&) const { return std::unique_ptr<blob>(); }
  std::string describe(const store_key&) const { return {}; }
};
struct lister : reader {
  result<std::vector<list_entry>> list(const store_key&) const { return std::vector<list_entry>(); }
};
struct publisher : test::toy_store {
  result<std::unique_ptr<publication>> stage(const store_key&, const publish_options&) const {
    return std::unique_ptr<publication>();
  }
};
struct without_describe {
  result<std::unique_ptr<blob>> open(const store_key&) const { return std::unique_ptr<blob>(); }
};
struct not_a_handle : reader {
  not_a_handle() = default;
  not_a_handle(const not_a_handle&) = delete;
};

}  // namespace

TEST_CASE("store concepts: abilities are told apart") {
  static_assert(readable_store<reader> && !writable_store<reader> && !listable_store<reader>);
  static_assert(listable_store<lister> && !writable_store<lister>);
  static_assert(writable_store<test::toy_store> && !publishable_store<test::toy_store>);
  static_assert(publishable_store<publisher> && !listable_store<publisher>);
  static_assert(!readable_store<without_describe> && !readable_store<not_a_handle>);
  static_assert(!readable_store<int>);
}

TEST_CASE("list_entry: ordered by name") {
  std::vector<list_entry> entries = {{"b", true}, {"b", false}, {"a", true}};
  std::sort(entries.begin(), entries.end());
  CHECK(entries == std::vector<list_entry>{{"a", true}, {"b", false}, {"b", true}});
}

TEST_CASE("publish_options: durable and careful unless asked otherwise") {
  CHECK(publish_options{}.sync);
  CHECK_FALSE(publish_options{}.overwrite);
}

}  // namespace concepts_test
