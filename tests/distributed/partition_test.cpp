// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/shard/partition.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/random_rounds.hpp"
#include "../support/shard_values.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace partition_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

using names = std::vector<std::vector<std::string>>;

/// A mesh as JAX has it: a row-major array of ranks.
rank_mesh jax_mesh(std::vector<rank_mesh::axis> axes) {
  return rank_mesh::make(std::move(axes), mesh_order::last_fastest).value();
}

partition divided(const rank_mesh& mesh, names by, uneven_parts rule = uneven_parts::refuse) {
  return partition::make(mesh, {std::move(by)}, rule).value();
}

/// The first element along an axis, of each rank.
std::vector<index_t> offsets(const partition& of, const dims& shape, std::size_t axis) {
  std::vector<index_t> out;
  for (const box& one : of.boxes_of(shape).value()) out.push_back(one.offset[axis]);
  return out;
}

std::vector<index_t> extents(const partition& of, const dims& shape, std::size_t axis) {
  std::vector<index_t> out;
  for (const box& one : of.boxes_of(shape).value()) out.push_back(one.shape[axis]);
  return out;
}

std::vector<int> replicas(const partition& of) {
  std::vector<int> out;
  for (int rank = 0; rank < of.mesh().size(); ++rank) out.push_back(of.replica_of(rank).value());
  return out;
}

using numbers = std::vector<index_t>;

}  // namespace

TEST_CASE("partition: what JAX's Mesh and PartitionSpec give each device") {
  // Mesh(np.arange(8).reshape(2, 4), ("x", "y")), arrays of shape (8, 16).
  const rank_mesh mesh = jax_mesh({{"x", 2}, {"y", 4}});
  const dims shape{8, 16};

  const partition both = divided(mesh, {{"x"}, {"y"}});  // P("x", "y")
  CHECK(offsets(both, shape, 0) == numbers{0, 0, 0, 0, 4, 4, 4, 4});
  CHECK(offsets(both, shape, 1) == numbers{0, 4, 8, 12, 0, 4, 8, 12});
  CHECK(both.box_of(shape, 6).value() == box{{4, 8}, {4, 4}});
  CHECK(replicas(both) == std::vector<int>(8, 0));

  const partition rows = divided(mesh, {{"x", "y"}});  // P(("x", "y"))
  CHECK(offsets(rows, shape, 0) == numbers{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(extents(rows, shape, 1) == numbers(8, 16));

  const partition turned = divided(mesh, {{"y", "x"}});  // P(("y", "x"))
  CHECK(offsets(turned, shape, 0) == numbers{0, 2, 4, 6, 1, 3, 5, 7});

  const partition copied = divided(mesh, {{"y"}});  // P("y")
  CHECK(offsets(copied, shape, 0) == numbers{0, 2, 4, 6, 0, 2, 4, 6});
  CHECK(replicas(copied) == std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1});

  const partition columns = divided(mesh, {{}, {"x"}});  // P(None, "x")
  CHECK(offsets(columns, shape, 1) == numbers{0, 0, 0, 0, 8, 8, 8, 8});
  CHECK(replicas(columns) == std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3});

  const partition none = divided(mesh, {});  // P()
  CHECK(none.boxes_of(shape).value() == std::vector<box>(8, box::whole(shape)));
  CHECK(replicas(none) == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(none.boxes_of({}).value() == std::vector<box>(8));

  // Mesh(np.arange(8).reshape(2, 2, 2), ("a", "b", "c")), shape (4, 6), P(("c", "a"), "b").
  const partition three = divided(jax_mesh({{"a", 2}, {"b", 2}, {"c", 2}}), {{"c", "a"}, {"b"}});
  CHECK(offsets(three, {4, 6}, 0) == numbers{0, 2, 0, 2, 1, 3, 1, 3});
  CHECK(offsets(three, {4, 6}, 1) == numbers{0, 0, 3, 3, 0, 0, 3, 3});
  CHECK(to_string(three.spec()) == "(c*a, b)");
  CHECK(to_string(columns.spec()) == "(-, x)");
}

TEST_CASE("partition: in Megatron-Core's order the first axis of the mesh is the fastest") {
  const rank_mesh mesh = rank_mesh::make({{"tp", 2}, {"dp", 2}, {"pp", 2}}).value();
  const partition of = divided(mesh, {{"pp"}, {"tp"}});
  CHECK(offsets(of, {2, 8}, 0) == numbers{0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(offsets(of, {2, 8}, 1) == numbers{0, 4, 0, 4, 0, 4, 0, 4});
  CHECK(replicas(of) == std::vector<int>{0, 0, 1, 1, 0, 0, 1, 1});
}

TEST_CASE("partition: uneven extents are refused, or the last parts are shorter or empty") {
  const rank_mesh mesh = jax_mesh({{"x", 4}});
  const auto refused = divided(mesh, {{"x"}}).box_of({10}, 0);
  CHECK(refused.failure().code == errc::invalid_argument);
  CHECK(refused.failure().message ==
        "partition (x): axis 0 of shape [10] cannot be divided into 4 equal parts; "
        "uneven_parts::ceil allows others");
  CHECK(divided(mesh, {{"x"}}).shard_of("w", {dtype_kind::float32, {10}}, 0).failure().message ==
        "shard of \"w\": " + refused.failure().message);
  // As torch.chunk, and so DTensor, divides 10, 5, 1 and 0 elements.
  const partition ceil = divided(mesh, {{"x"}}, uneven_parts::ceil);
  CHECK(extents(ceil, {10}, 0) == numbers{3, 3, 3, 1});
  CHECK(offsets(ceil, {10}, 0) == numbers{0, 3, 6, 9});
  CHECK(extents(ceil, {5}, 0) == numbers{2, 2, 1, 0});
  CHECK(offsets(ceil, {5}, 0) == numbers{0, 2, 4, 5});
  CHECK(extents(ceil, {1}, 0) == numbers{1, 0, 0, 0});
  CHECK(extents(ceil, {0}, 0) == numbers{0, 0, 0, 0});
  // Two axes of the mesh one after another: 10 in 5 and 5, each of these in 2, 2 and 1.
  const partition nested =
      divided(jax_mesh({{"x", 2}, {"y", 3}}), {{"x", "y"}}, uneven_parts::ceil);
  CHECK(offsets(nested, {10}, 0) == numbers{0, 2, 4, 5, 7, 9});
  CHECK(extents(nested, {10}, 0) == numbers{2, 2, 1, 2, 2, 1});
}

TEST_CASE("partition: names that the mesh does not have, or that are there twice") {
  const rank_mesh mesh = jax_mesh({{"x", 2}, {"y", 4}});
  const auto refused = [&](names by) {
    const auto made = partition::make(mesh, {std::move(by)});
    REQUIRE_FALSE(made);
    CHECK(made.failure().code == errc::invalid_argument);
    return made.failure().message;
  };
  CHECK(refused({{"x"}, {"z"}}) == "partition (x, z): the mesh has no axis \"z\"");
  CHECK(refused({{"x"}, {"x"}}) == "partition (x, x): axis \"x\" is named twice");
  CHECK(refused({{"y", "y"}}) == "partition (y*y): axis \"y\" is named twice");
  CHECK(refused({{""}}) == "partition (): the mesh has no axis \"\"");
}

TEST_CASE("partition: ranks and shapes that do not fit, and sizes beyond all bounds") {
  const partition of = divided(jax_mesh({{"x", 2}, {"y", 4}}), {{"x"}, {}, {"y"}});
  for (const int rank : {-1, 8}) {
    CHECK(of.box_of({2, 2, 4}, rank).failure().code == errc::out_of_range);
    CHECK(of.replica_of(rank).failure().code == errc::out_of_range);
    CHECK(of.sharding_of(rank).failure().code == errc::out_of_range);
    CHECK(of.shard_of("w", {dtype_kind::int8, {2, 2, 4}}, rank).failure().code ==
          errc::out_of_range);
  }
  CHECK(of.replica_of(8).failure().message ==
        "partition (x, -, y): rank 8 is not in the mesh, which has 8 ranks");
  CHECK(of.box_of({2, 2}, 0).failure().message ==
        "partition (x, -, y): it has more axes than the tensor of shape [2, 2]");
  CHECK(of.boxes_of({2, 2}).failure().code == errc::invalid_argument);
  CHECK(of.box_of({2, 2, -4}, 0).failure().code == errc::invalid_argument);

  constexpr index_t most = std::numeric_limits<index_t>::max();
  const rank_mesh wide = jax_mesh({{"x", 65536}, {"y", 32767}});
  const partition huge = divided(wide, {{"x", "y"}}, uneven_parts::ceil);
  index_t end = 0;
  for (const int rank : {0, 1, 32766, 32767, wide.size() - 2, wide.size() - 1}) {
    const box one = huge.box_of({most}, rank).value();
    CHECK(one.offset[0] >= end);
    CHECK(one.shape[0] >= 0);
    CHECK(one.offset[0] <= most - one.shape[0]);
    end = one.offset[0] + one.shape[0];
  }
  CHECK(end == most);
  CHECK(huge.shard_of("w", {dtype_kind::float32, {most}}, 0).failure().code == errc::out_of_range);
  CHECK(huge.shard_of("", {dtype_kind::float32, {7}}, 0).failure().code == errc::invalid_argument);
  CHECK(huge.box_of({3}, wide.size() - 1).value() == box{{3}, {0}});
}

TEST_CASE("partition: boxes that no partition of the mesh gives are refused") {
  const rank_mesh mesh = jax_mesh({{"x", 2}, {"y", 2}});
  const auto refused = [&](const dims& shape, const std::vector<box>& boxes) {
    const auto made = partition::of_boxes(mesh, shape, boxes);
    REQUIRE_FALSE(made);
    return to_string(made.failure());
  };
  const box left{{0}, {2}};
  const box right{{2}, {2}};
  CHECK(refused({4}, {left, right}) ==
        "invalid_argument: 2 boxes were given; the mesh has 4 ranks");
  CHECK(refused({4}, {left, right, right, left}) ==
        "invalid_argument: no partition of the mesh gives the boxes: rank 0 has [0:2], where "
        "(y*x) has [0:1]");
  CHECK(refused({4}, {right, right, left, left}).starts_with("invalid_argument: "));
  CHECK(refused({4}, {left, left, left, box{{2}, {1}}}).starts_with("invalid_argument: "));
  CHECK(refused({4, 4}, std::vector<box>(4, left)).starts_with("invalid_argument: "));
  CHECK(refused({4}, {left, left, right, box{{3}, {2}}}).starts_with("out_of_range: "));
  CHECK(refused({4}, {left, left, right, box{{-1}, {2}}}).starts_with("invalid_argument: "));
  constexpr index_t most = std::numeric_limits<index_t>::max();
  CHECK(refused({most}, {left, left, right, box{{most}, {most}}}).starts_with("out_of_range: "));
  // One axis of the mesh cannot divide two axes of the tensor.
  const box first{{0, 0}, {2, 2}};
  const box second{{2, 2}, {2, 2}};
  CHECK(refused({4, 4}, {first, first, second, second}) ==
        "invalid_argument: no partition of the mesh gives the boxes: partition (x, x): axis "
        "\"x\" is named twice");
}

TEST_CASE("partition: random meshes and specs: to boxes and back, and shards tile the tensor") {
  std::mt19937 random(13);
  const auto below = [&](index_t n) {
    return static_cast<index_t>(random() % static_cast<unsigned>(n));
  };
  int recovered = 0;
  for (int round = 0; round < random_rounds(2000); ++round) {
    CAPTURE(round);
    std::vector<rank_mesh::axis> axes;
    for (const char* name : {"a", "b", "c", "d"}) {
      if (below(4) > 0) axes.push_back({name, static_cast<int>(1 + below(3))});
    }
    const auto order = below(2) == 0 ? mesh_order::first_fastest : mesh_order::last_fastest;
    const rank_mesh mesh = rank_mesh::make(axes, order).value();
    const index_t rank = below(4);
    // Each axis of the mesh divides an axis of the tensor, or none, in a random order.
    std::shuffle(axes.begin(), axes.end(), random);
    names by(static_cast<std::size_t>(rank));
    names distinct(by.size());  // without axes of one rank, which no boxes tell
    dims even(by.size(), 1);
    for (const rank_mesh::axis& axis : axes) {
      const auto at = static_cast<std::size_t>(below(rank + 1));
      if (at == by.size()) continue;
      by[at].push_back(axis.name);
      if (axis.extent > 1) distinct[at].push_back(axis.name);
      even[at] *= axis.extent;
    }
    while (!distinct.empty() && distinct.back().empty()) distinct.pop_back();
    const bool is_even = below(2) == 0;
    dims shape(by.size(), 0);
    bool has_none = false;
    for (std::size_t axis = 0; axis < by.size(); ++axis) {
      shape[axis] = is_even ? even[axis] * below(4) : below(9);
      has_none = has_none || shape[axis] == 0;
    }
    const auto rule = is_even ? uneven_parts::refuse : uneven_parts::ceil;
    const partition of = divided(mesh, by, rule);
    const std::vector<box> boxes = of.boxes_of(shape).value();
    REQUIRE(boxes.size() == static_cast<std::size_t>(mesh.size()));

    // The main replicas have each element once.
    index_t covered = 0;
    std::set<std::pair<std::string, int>> seen;
    for (int r = 0; r < mesh.size(); ++r) {
      const box& one = boxes[static_cast<std::size_t>(r)];
      CHECK(of.box_of(shape, r).value() == one);
      const auto shard = of.shard_of("w", {dtype_kind::int16, shape}, r).value();
      CHECK(shard.global_box() == one);
      const int replica = of.replica_of(r).value();
      CHECK(shard.replica == replica_id(replica));
      if (replica == 0) covered += element_count(one.shape).value();
      if (!one.empty()) CHECK(seen.emplace(to_string(one), replica).second);
      if (!is_even) continue;
      REQUIRE(shard.is_regular());
      // The same shard, from the shape of the local tensor.
      const auto local =
          from_rank_offsets("w", {dtype_kind::int16, one.shape}, of.sharding_of(r).value()).value();
      CHECK(local == shard);
    }
    CHECK(covered == element_count(shape).value());

    const partition back = partition::of_boxes(mesh, shape, boxes).value();
    CHECK(back.boxes_of(shape).value() == boxes);
    if (is_even) CHECK(back.rule() == uneven_parts::refuse);
    if (is_even && !has_none) {
      CHECK(back.spec() == partition_spec{distinct});
      CHECK(replicas(back) == replicas(of));
      ++recovered;
    }
  }
  CHECK(recovered > random_rounds(2000) / 8);
}

TEST_CASE("partition: what one mesh saves, even if unevenly, another one loads") {
  const memory_store store;
  const dims shape{10, 6};
  const tensor_spec global{dtype_kind::float32, shape};
  const partition saved =
      divided(rank_mesh::make({{"tp", 4}, {"dp", 2}}).value(), {{"tp"}}, uneven_parts::ceil);
  CHECK(save_by(8, store, [&](int rank) {
          return state{{"w", with_values(saved.shard_of("w", global, rank).value(), 6)}};
        }) == "done");
  const partition loaded = divided(jax_mesh({{"x", 2}, {"y", 3}}), {{"x"}, {"y"}});
  CHECK(load_by(
            6, store,
            [&](int rank) {
              return state{{"w", with_room(loaded.shard_of("w", global, rank).value())}};
            },
            [](int, const group_load_report& report) {
              return wrong_in(*report.loaded.find("w")->if_tensor(), 6);
            },
            {.validate = true}) == "done");
}

}  // namespace partition_test
