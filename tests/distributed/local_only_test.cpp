// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/shard/local_only.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace local_only_test {

using namespace zarrpoint;

struct handle {
  int number = 0;
};

TEST_CASE("a local value comes back as it was, asked for by its type") {
  const local_only text(std::string("node07"));
  REQUIRE(text.get<std::string>() != nullptr);
  CHECK(*text.get<std::string>() == "node07");
  CHECK(text.get<const std::string>() == text.get<std::string>());
  CHECK(text.get<int>() == nullptr);

  const local_only moved(std::make_unique<int>(7));  // of a type that cannot be copied
  const local_only copy = moved;
  CHECK(copy.get<std::unique_ptr<int>>() == moved.get<std::unique_ptr<int>>());
  CHECK(**copy.get<std::unique_ptr<int>>() == 7);

  const char* const literal = *local_only("rank 3").get<const char*>();
  CHECK(std::string(literal) == "rank 3");
}

TEST_CASE("local values are compared by bits, by their own comparison, or by identity") {
  CHECK(local_only(1) == local_only(1));
  CHECK_FALSE(local_only(1) == local_only(2));
  CHECK_FALSE(local_only(1) == local_only(1L));
  CHECK(local_only(1).same_type(local_only(2)));
  CHECK_FALSE(local_only(1).same_type(local_only(2U)));

  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(local_only(nan) == local_only(nan));
  CHECK_FALSE(local_only(nan) == local_only(-nan));
  CHECK_FALSE(local_only(0.0) == local_only(-0.0));
  CHECK(local_only(std::vector<double>{1, nan}) == local_only(std::vector<double>{1, nan}));
  CHECK_FALSE(local_only(std::vector<double>{1}) == local_only(std::vector<double>{1, nan}));
  CHECK_FALSE(local_only(tensor()) == local_only(tensor()));  // that is not a tensor of any spec

  CHECK(local_only(std::pair(1, 2)) == local_only(std::pair(1, 2)));
  const local_only one(handle{1});
  CHECK(one == local_only(one));
  CHECK_FALSE(one == local_only(handle{1}));
}

}  // namespace local_only_test
