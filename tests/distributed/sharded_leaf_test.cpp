// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace sharded_leaf_test {

using namespace zarrpoint;

struct without_replica {
  const std::string& key() const;
  result<void> validate() const;
  without_replica without_data() const;
};

static_assert(detail::sharded_leaf<sharded_tensor>);
static_assert(detail::sharded_leaf<sharded<std::vector<float>>>);
static_assert(!detail::sharded_leaf<shard_metadata>);
static_assert(!detail::sharded_leaf<without_replica>);

template <detail::sharded_leaf Leaf>
std::string described(const Leaf& leaf) {
  return leaf.key() + " " + to_string(leaf.replica()) + (leaf.validate() ? " valid" : " invalid");
}

TEST_CASE("typed and untyped tensors are described through one interface") {
  const auto typed = shard("w", std::vector<float>{1, 2}, {.replica = {0, 1}}).value();
  CHECK(described(typed) == "w (0, 1) valid");
  CHECK(described(sharded_tensor(typed)) == "w (0, 1) valid");
  CHECK(described(typed.without_data()) == "w (0, 1) valid");
  CHECK(described(sharded_tensor(shard_metadata{.key = "bad"})) == "bad 0 invalid");
}

}  // namespace sharded_leaf_test
