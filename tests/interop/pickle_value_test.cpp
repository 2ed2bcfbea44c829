// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/pickle/pickle_value.hpp>

#include "pickle_bytes.hpp"

#include <doctest/doctest.h>

namespace pickle_value_test {

using namespace zarrpoint;

TEST_CASE("pickle_value: a handle keeps the pickle, and says nothing that it is not") {
  std::optional<torch::pickle_value> kept;
  kept = test::unpickle(test::all_kinds_2).value().find("sh");
  CHECK(kept->element(0).element(0).to_int64() == 1);
  CHECK(kept->element(0).is_same(kept->element(1)));
  CHECK_FALSE(kept->is_same(kept->element(0)));
  CHECK_FALSE(kept->to_bool());
  CHECK_FALSE(kept->to_double());
  CHECK_FALSE(kept->to_uint64());
  CHECK_FALSE(kept->if_bytes());
  CHECK_FALSE(kept->if_wide_integer());
  CHECK(kept->if_string() == nullptr);
  CHECK(kept->module().empty());
  CHECK(kept->member_count() == 0);
  CHECK(kept->state_count() == 0);
  CHECK_FALSE(kept->is_call_of("a", "b"));
}

TEST_CASE("pickle_value: of a key that is there twice the last one counts") {
  using namespace std::string_literals;
  const auto twice = test::unpickle("\x80\x02}(U\1aK\1U\1aK\2u."s).value();
  CHECK(twice.member_count() == 2);
  CHECK(twice.find("a")->to_int64() == 2);
}

}  // namespace pickle_value_test
