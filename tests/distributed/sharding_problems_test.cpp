// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/plan/validate_sharding.hpp>

#include <doctest/doctest.h>

#include <string>

namespace sharding_problems_test {

namespace {

using namespace zarrpoint;

std::string text_of(std::initializer_list<int> ranks) {
  detail::process_list list;
  for (const int rank : ranks) list.add(rank);
  return list.text();
}

}  // namespace

TEST_CASE("processes are named in order, each once, and not more than eight") {
  CHECK(text_of({3}) == "process 3");
  CHECK(text_of({3, 3, 1}) == "processes 1 and 3");
  CHECK(text_of({9, 8, 7, 6, 5, 4, 3, 2}) == "processes 2, 3, 4, 5, 6, 7, 8 and 9");
  CHECK(text_of({9, 8, 7, 6, 5, 4, 3, 2, 1}) == "processes 1, 2, 3, 4, 5, 6, 7, 8 and others");
  detail::process_list a;
  detail::process_list b;
  CHECK(a.empty());
  b.add(2);
  a.add(1);
  a.add(b);
  CHECK(a.text() == "processes 1 and 2");
}

TEST_CASE("problems come by key, of each key the first, and the message is bounded") {
  CHECK(detail::sharding_problems{}.finish());
  detail::sharding_problems two;
  two.add("b", [] { return "second"; });
  two.add("a", [] { return std::string(100000, 'x'); });
  const error some = std::move(two).finish().failure();
  CHECK(some.code == errc::invalid_argument);
  CHECK(some.message.starts_with("the sharding has 2 problems:\n  \"a\": xxx"));
  CHECK(some.message.ends_with("xxx...\n  \"b\": second"));
  CHECK(some.message.size() < 1000);

  for (const bool backwards : {false, true}) {  // the same whatever comes first
    detail::sharding_problems many;
    for (int i = 0; i < 1000; ++i) {
      const int key = backwards ? 999 - i : i;
      for (int n = 0; n < 3; ++n)
        many.add(std::to_string(1000 + key), [n] { return std::to_string(n); });
    }
    const std::string text = std::move(many).finish().failure().message;
    CHECK(text.starts_with("the sharding has 3000 problems:\n  \"1000\": 0\n  \"1000\": 1\n"));
    CHECK(text.ends_with("\"1007\": 2\n  and 2976 more"));
  }
  CHECK(detail::list_text({"a", "b"}, 2) == "a, b");
  CHECK(detail::list_text({"a", "b"}, 3) == "a, b, ...");
}

}  // namespace sharding_problems_test
