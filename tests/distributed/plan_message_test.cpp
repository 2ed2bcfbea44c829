// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/save/plan_layout.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/distributed/save/plan_group_save.hpp>
#include <zarrpoint/distributed/save/plan_message.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace plan_message_test {

using namespace zarrpoint;

namespace {

/// The parts of two processes with half a tensor each.
std::vector<message> two_parts() {
  detail::described_states states;
  for (int rank = 0; rank < 2; ++rank)
    CHECK(states.shards.add(
        rank,
        from_rank_offsets("w", {dtype_kind::float32, {2}}, {.offsets = {{0, rank, 2}}}).value()));
  states.objects.push_back({1, {"o", {1}, {0}}, true});
  states.commons.resize(2);
  const group_save_options options;
  const limits limit;
  const detail::group_planner planner{options, limit};
  const auto plan = planner.plan(states, json()).value();
  std::vector<planned_array> arrays;
  for (const planned_tensor& tensor : plan.plan.tensors) {
    const auto layout = detail::plan_layout(tensor.key, {tensor.type, tensor.grid.shape},
                                            {.rules = {{.shard_shape = tensor.grid.cell_shape}}})
                            .value();
    arrays.push_back({tensor, layout.metadata, detail::array_document(layout.metadata).value()});
  }
  detail::part_context about;
  about.ranks = 2;
  about.warnings = {"careful"};
  return planner.parts_of(plan, arrays, about).value();
}

}  // namespace

TEST_CASE("plan message: each process is told its cells, and what it puts") {
  const auto parts = two_parts();
  REQUIRE(parts.size() == 2);
  for (int rank = 0; rank < 2; ++rank) {
    const auto part = detail::decode_part(parts[static_cast<std::size_t>(rank)]);
    REQUIRE(part);
    REQUIRE(part->arrays.size() == 1);
    CHECK(part->arrays.front().metadata.shape == dims{4});
    CHECK(part->puts_document.front() == (rank == 0));
    CHECK(part->first_objects.size() == (rank == 1 ? 1U : 0U));
    REQUIRE(part->plan.cells.size() == 1);
    CHECK(part->plan.cells.front().index == rank);
    CHECK(part->warnings == std::vector<std::string>{"careful"});
    CHECK_FALSE(part->exchanges);
  }
}

TEST_CASE("plan message: one that is cut or damaged never does harm") {
  const message whole = two_parts().back();
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK_FALSE(detail::decode_part(bytes_view(whole).first(size)));
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      message damaged = whole;
      damaged[at] ^= static_cast<std::byte>(1U << bit);
      if (!detail::decode_part(damaged)) ++refused;
    }
  }
  CHECK(refused > static_cast<int>(whole.size()) * 2);
  message longer = whole;
  longer.push_back(std::byte{0});
  CHECK_FALSE(detail::decode_part(longer));
}

TEST_CASE("plan message: an error of rank 0 is that of all") {
  for (const bool fails : {false, true}) {
    const auto got = thread_world::run(3, [&](const thread_communicator& self) {
      result<std::vector<message>> all = std::vector<message>{{}, {std::byte{1}}, {std::byte{2}}};
      if (fails) all = error{errc::resource_limit, "too much"};
      return detail::scatter_result(self, std::move(all));
    });
    for (std::size_t rank = 0; rank < 3; ++rank) {
      REQUIRE(got[rank].has_value() == !fails);
      if (fails) CHECK(to_string(got[rank].failure()) == "resource_limit: too much");
      if (!fails) CHECK(got[rank]->size() == (rank == 0 ? 0U : 1U));
    }
  }
}

}  // namespace plan_message_test
