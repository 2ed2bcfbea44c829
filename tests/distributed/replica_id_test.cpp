// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/shard/shard_metadata.hpp>

#include <doctest/doctest.h>

namespace replica_id_test {

namespace {

using namespace zarrpoint;

}  // namespace

TEST_CASE("MAP-7: the main replica is the one whose numbers are all 0") {
  for (const replica_id& main :
       {replica_id(), replica_id(0), replica_id{0}, replica_id{0, 0},
        replica_id(std::vector<index_t>(3, 0)), replica_id(std::vector<index_t>())}) {
    CAPTURE(to_string(main));
    CHECK(main.is_main());
  }
  for (const replica_id& other : {replica_id(1), replica_id(2), replica_id{1}, replica_id{1, 0},
                                  replica_id{0, 1}, replica_id{1, 1, 1}, replica_id(-1)}) {
    CAPTURE(to_string(other));
    CHECK_FALSE(other.is_main());
  }
}

TEST_CASE("a replica id is compared and printed by its parts") {
  CHECK(replica_id(2) == replica_id{2});
  CHECK(replica_id(0) != replica_id{0, 0});
  CHECK(replica_id() == replica_id(0));
  CHECK(replica_id{0, 1}.parts() == std::vector<index_t>{0, 1});
  CHECK(to_string(replica_id(7)) == "7");
  CHECK(to_string(replica_id{0, 1}) == "(0, 1)");
  CHECK(to_string(replica_id(std::vector<index_t>())) == "()");
  const replica_id from_number = 5;  // as a replica is told in most states
  CHECK(from_number.parts() == std::vector<index_t>{5});
}

}  // namespace replica_id_test
