// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/load/read_once.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace once_plan_test {

namespace {

using namespace zarrpoint;
using detail::once_options;
using detail::once_plan;

shard_metadata part(const std::string& key, const dims& global, const box& at) {
  return {.key = key,
          .type = dtype_kind::uint8,
          .local_shape = at.shape,
          .global_shape = global,
          .global_offset = at.offset};
}

/// `ranks` that ask for as many columns of 64 x 64 bytes, all of which lie in units of 4 rows.
once_plan plan_of(int ranks, const once_options& options, int times = 1) {
  detail::described_states states;
  for (int rank = 0; rank < ranks; ++rank) {
    const index_t width = 64 / ranks;
    for (int i = 0; i < times; ++i)
      REQUIRE(states.shards.add(rank, part("w", {64, 64}, {{0, rank * width}, {64, width}})));
  }
  const std::size_t forms = states.shards.forms().size();
  auto out = once_plan::make(std::move(states), std::vector<dims>(forms, {4, 64}), options);
  REQUIRE(out);
  return std::move(*out);
}

std::vector<std::size_t> rounds_of(const once_plan& plan) {
  std::vector<std::size_t> out;
  for (std::size_t begin = 0; begin < plan.order().size();) {
    const std::size_t end =
        plan.is_large(*plan.order()[begin]) ? plan.end_of_relay(begin) : plan.end_of_round(begin);
    REQUIRE(end > begin);
    out.push_back(end - begin);
    begin = end;
  }
  return out;
}

}  // namespace

TEST_CASE("once plan: regions in the order of their places, neighbours by different readers") {
  const once_plan plan = plan_of(4, {.region_bytes = 4 * 64});
  REQUIRE(plan.order().size() == 16);
  std::map<int, int> reads;
  for (std::size_t i = 0; i < 16; ++i) {
    const detail::shared_request& one = *plan.order()[i];
    CHECK(plan.region_of(one).global_offset == dims{4 * static_cast<index_t>(i), 0});
    CHECK(one.bytes == 4 * 64);
    CHECK(one.holders.size() == 4);
    ++reads[one.reader.rank];
    if (i % 4 != 0) CHECK(one.reader.rank != plan.order()[i - 1]->reader.rank);
    for (const auto& holder : one.holders) {
      CHECK(plan.is_cut(holder));
      CHECK(holder.bytes == 4 * 16);
      CHECK(plan.part_of(holder) == box{{4 * static_cast<index_t>(i), 16 * holder.rank}, {4, 16}});
      CHECK(plan.spec_of(holder).shape == dims{4, 16});
    }
  }
  CHECK(reads == std::map<int, int>{{0, 4}, {1, 4}, {2, 4}, {3, 4}});
}

TEST_CASE("once plan: what a holder wants of a region in memory") {
  const once_plan plan = plan_of(2, {.region_bytes = 4 * 64});
  const detail::shared_request& one = *plan.order()[3];
  std::vector<std::byte> region(4 * 64);
  const host_view wanted = plan.wanted_of(one, one.holders[1], region.data());
  CHECK(wanted.shape == dims{4, 32});
  CHECK(wanted.strides == dims{64, 1});
  CHECK(wanted.data == region.data() + 32);
}

TEST_CASE("once plan: rounds keep to what may be in hand, and never have nothing") {
  // Each region has 128 bytes for the other one: in a round one for each process, or all.
  CHECK(rounds_of(plan_of(2, {.most_in_hand = 4096, .region_bytes = 256})) ==
        std::vector<std::size_t>{16});
  CHECK(rounds_of(plan_of(2, {.most_in_hand = 256, .region_bytes = 256})) ==
        std::vector<std::size_t>(8, 2));
  // Larger than that, and wanted twice by each: one by one.
  CHECK(rounds_of(plan_of(2, {.most_in_hand = 100, .region_bytes = 256}, 2)) ==
        std::vector<std::size_t>(16, 1));
  // What is too large to be sent is read by each.
  const once_plan alone = plan_of(2, {.most_sent = 256, .region_bytes = 256});
  CHECK(rounds_of(alone) == std::vector<std::size_t>{2});
  CHECK_FALSE(alone.is_cut(alone.order()[0]->reader));
}

TEST_CASE("once plan: equal boxes are one request, which is relayed where copies are large") {
  detail::described_states states;
  for (int rank = 0; rank < 3; ++rank)
    REQUIRE(states.shards.add(rank, part("w", {64, 64}, {{0, 0}, {64, 64}})));
  const auto plan = once_plan::make(std::move(states), {dims{4, 64}}, {.most_in_hand = 8192});
  REQUIRE(plan);
  REQUIRE(plan->order().size() == 1);
  const detail::shared_request& one = *plan->order()[0];
  CHECK(plan->is_large(one));
  CHECK(once_plan::chain_of(one).front() == one.reader.rank);
  CHECK(once_plan::chain_of(one).size() == 3);
  CHECK(plan->region_of(one).local_shape == dims{64, 64});
}

}  // namespace once_plan_test
