// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/communicate/rank_mesh.hpp>

#include <doctest/doctest.h>

#include <map>
#include <set>

namespace rank_mesh_test {

using namespace zarrpoint;

rank_mesh mesh(int tp, int dp, int pp) {
  return rank_mesh::make({{"tp", tp}, {"dp", dp}, {"pp", pp}}).value();
}

TEST_CASE("OPT-8: in the order tp-dp-pp, the group of copies of a rank is pp * TP + tp") {
  for (const int tp : {1, 2, 4}) {
    for (const int dp : {1, 2, 3}) {
      for (const int pp : {1, 2, 4}) {
        const rank_mesh of = mesh(tp, dp, pp);
        CHECK(of.size() == tp * dp * pp);
        std::map<int, std::set<int>> groups;
        for (int rank = 0; rank < of.size(); ++rank) {
          CHECK(of.coordinate(rank, "tp") == rank % tp);
          CHECK(of.coordinate(rank, "dp") == rank / tp % dp);
          CHECK(of.coordinate(rank, "pp") == rank / (tp * dp));
          CHECK(of.group_of(rank, "dp") == of.coordinate(rank, "pp") * tp + rank % tp);
          groups[of.group_of(rank, "dp")].insert(rank);
        }
        CHECK(groups.size() == static_cast<std::size_t>(tp * pp));
        for (const auto& [number, ranks] : groups)
          CHECK(ranks.size() == static_cast<std::size_t>(dp));
      }
    }
  }
}

TEST_CASE(
    "OPT-8: fewer pipeline stages leave the numbers of the groups that are left as they were") {
  const rank_mesh four = mesh(2, 3, 4);
  const rank_mesh two = mesh(2, 3, 2);
  for (int rank = 0; rank < two.size(); ++rank)
    CHECK(two.group_of(rank, "dp") == four.group_of(rank, "dp"));
  // In another order they do not keep them.
  const rank_mesh other = rank_mesh::make({{"tp", 2}, {"pp", 4}, {"dp", 3}}).value();
  const rank_mesh fewer = rank_mesh::make({{"tp", 2}, {"pp", 2}, {"dp", 3}}).value();
  bool same = true;
  for (int rank = 0; rank < fewer.size(); ++rank)
    same = same && other.coordinate(rank, "pp") == fewer.coordinate(rank, "pp");
  CHECK_FALSE(same);
}

TEST_CASE("rank_mesh: a mesh whose last axis is that of neighbours is a row-major array of ranks") {
  const rank_mesh of =
      rank_mesh::make({{"x", 2}, {"y", 3}, {"z", 4}}, mesh_order::last_fastest).value();
  CHECK(of.size() == 24);
  CHECK(of.axes().front().name == "z");
  for (int rank = 0; rank < 24; ++rank) {
    CHECK(of.coordinate(rank, "x") == rank / 12);
    CHECK(of.coordinate(rank, "y") == rank / 4 % 3);
    CHECK(of.coordinate(rank, "z") == rank % 4);
    CHECK(of.group_of(rank, "y") == rank / 12 * 4 + rank % 4);
  }
  CHECK(rank_mesh::make({{"x", 2}, {"x", 2}}, mesh_order::last_fastest).failure().code ==
        errc::invalid_argument);
}

TEST_CASE("rank_mesh: axes that there are not, and what is not a mesh") {
  const rank_mesh one = rank_mesh::make({}).value();
  CHECK(one.size() == 1);
  CHECK(one.extent("tp") == 1);
  CHECK(one.coordinate(0, "tp") == 0);
  CHECK(one.group_of(0, "tp") == 0);
  const rank_mesh of = mesh(2, 3, 4);
  CHECK(of.extent("dp") == 3);
  CHECK(of.extent("ep") == 1);
  CHECK(of.coordinate(17, "ep") == 0);
  CHECK(of.axes().size() == 3);
  const auto refused = [](std::vector<rank_mesh::axis> axes) {
    return rank_mesh::make(std::move(axes)).failure().code;
  };
  CHECK(refused({{"tp", 0}}) == errc::invalid_argument);
  CHECK(refused({{"tp", -1}}) == errc::invalid_argument);
  CHECK(refused({{"tp", 2}, {"dp", 2}, {"tp", 1}}) == errc::invalid_argument);
  CHECK(refused({{"a", 65536}, {"b", 65536}}) == errc::out_of_range);
}

}  // namespace rank_mesh_test
