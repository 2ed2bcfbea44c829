// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/pickle/pickle.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace pickle_stack_test {

using namespace zarrpoint;
using torch::pickle_kind;
using torch::detail::pickle_index;
using torch::detail::pickle_stack;

TEST_CASE("pickle_stack: what lies above a mark is one group") {
  pickle_stack stack;
  REQUIRE(stack.push(torch::detail::pickle_true));
  stack.mark();
  REQUIRE(stack.push(pickle_kind::string, std::string("a")));
  REQUIRE(stack.push(torch::detail::pickle_none));
  const std::vector<pickle_index> group = stack.pop_mark().value();
  REQUIRE(group.size() == 2);
  CHECK(stack.item(group[0]).body().text == "a");
  CHECK(group[1] == torch::detail::pickle_none);
  REQUIRE(stack.push(pickle_kind::list, group));
  CHECK(stack.pop());
  CHECK(stack.finish().value().to_bool() == true);
}

TEST_CASE("pickle_stack: nothing is taken from below a mark") {
  pickle_stack stack;
  CHECK(stack.top().failure().code == errc::corrupt);
  CHECK(stack.drop().failure().code == errc::corrupt);
  CHECK(stack.pop_mark().failure().code == errc::corrupt);
  REQUIRE(stack.push(torch::detail::pickle_none));
  stack.mark();
  CHECK(stack.pop().failure().code == errc::corrupt);
  CHECK(stack.top().failure().code == errc::corrupt);
  CHECK(stack.finish().failure().code == errc::corrupt);
  REQUIRE(stack.drop());  // of the mark
  CHECK(stack.top().value() == torch::detail::pickle_none);
  REQUIRE(stack.push(torch::detail::pickle_none));
  CHECK(stack.finish().failure().code == errc::corrupt);
  REQUIRE(stack.drop());
  CHECK(stack.finish().value().is_none());
}

TEST_CASE("pickle_stack: the memo has any numbers, in any order") {
  pickle_stack stack;
  CHECK(stack.put(0).failure().code == errc::corrupt);  // there is nothing to put
  REQUIRE(stack.push(torch::detail::pickle_true));
  REQUIRE(stack.put(1));
  REQUIRE(stack.put(std::size_t{1} << 31));
  REQUIRE(stack.push(torch::detail::pickle_false));
  REQUIRE(stack.put(0));
  CHECK(stack.memo_size() == 3);
  REQUIRE(stack.get(1));
  CHECK(stack.top().value() == torch::detail::pickle_true);
  REQUIRE(stack.get(0));
  CHECK(stack.top().value() == torch::detail::pickle_false);
  REQUIRE(stack.get(std::size_t{1} << 31));
  CHECK(stack.top().value() == torch::detail::pickle_true);
  REQUIRE(stack.push(torch::detail::pickle_none));
  REQUIRE(stack.put(1));  // again
  REQUIRE(stack.get(1));
  CHECK(stack.top().value() == torch::detail::pickle_none);
  CHECK(stack.memo_size() == 3);
  CHECK(stack.get(2).failure().message == "the memo has no value 2");
}

TEST_CASE("pickle_stack: its size is that of what there is most of") {
  pickle_stack stack;
  CHECK(stack.size() == 4);  // the values of every pickle
  for (int i = 0; i < 9; ++i) stack.mark();
  CHECK(stack.size() == 9);
  REQUIRE(stack.push(torch::detail::pickle_none));
  for (std::size_t i = 0; i < 20; ++i) REQUIRE(stack.put(7 * i));
  CHECK(stack.size() == 20);
  for (int i = 0; i < 30; ++i) REQUIRE(stack.push(torch::detail::pickle_none));
  CHECK(stack.size() == 31);
  for (int i = 0; i < 40; ++i) REQUIRE(stack.push(pickle_kind::string, std::string("x")));
  CHECK(stack.size() == 71);
}

}  // namespace pickle_stack_test
