// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/shard/dcp_view.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>

#include <doctest/doctest.h>

#include <map>
#include <random>

namespace dcp_view_test {

namespace {

using namespace zarrpoint;

/// `extent` elements from `offset` of a tensor of `global`, in no regular grid.
shard_metadata stretch(index_t offset, index_t extent, index_t global = 10) {
  shard_metadata out{.key = "w", .type = dtype_kind::float32};
  out.local_shape = {extent};
  out.global_shape = {global};
  out.global_offset = {offset};
  return out;
}

local_shards held(std::vector<shard_metadata> shards) {
  return local_shards::make("w", std::move(shards)).value();
}

metadata_index at(index_t offset, std::optional<std::size_t> hint = {}) {
  return {"w", dims{offset}, hint};
}

error refused(std::vector<shard_metadata> shards) {
  const auto made = local_shards::make("w", std::move(shards));
  REQUIRE_FALSE(made);
  return made.failure();
}

/// What a planner asks of a value, whether it is one shard or several: chunks to load by, items to
/// write.
template <class T>
concept planned = requires(const T& value, const metadata_index& index) {
  { value.chunks() } -> std::same_as<std::vector<box>>;
  { value.write_items() } -> std::same_as<std::vector<write_item>>;
  { value.find(index) } -> std::same_as<result<std::size_t>>;
};
static_assert(planned<local_shards>);

/// Writes the items of `from` as a store keyed by what they say, and fills `into` from it by its
/// chunks: elements of a tensor of one dimension are told by their value.
std::vector<std::vector<int>> write_and_read(const local_shards& from, const local_shards& into) {
  std::map<index_t, int> stored;
  for (const write_item& item : from.write_items()) {
    const std::size_t position = from.find(item.index).value();
    REQUIRE(position == item.index.hint);
    REQUIRE(from.shards()[position].global_box() == item.chunk);
    for (index_t i = 0; i < item.chunk.shape[0]; ++i)
      stored[item.chunk.offset[0] + i] = static_cast<int>(100 + item.chunk.offset[0] + i);
  }
  std::vector<std::vector<int>> out;
  for (const box& chunk : into.chunks()) {
    out.emplace_back();
    for (index_t i = 0; i < chunk.shape[0]; ++i)
      out.back().push_back(stored.at(chunk.offset[0] + i));
  }
  return out;
}

}  // namespace

TEST_CASE("golden row 33: a shard is found by its hint, or by its offset where the hint is stale") {
  const local_shards shards = held({stretch(0, 3), stretch(8, 2), stretch(3, 5)});
  CHECK(shards.find(at(3, 2)).value() == 2);
  CHECK(shards.find(at(3, 0)).value() == 2);
  CHECK(shards.find(at(3, 9)).value() == 2);
  CHECK(shards.find(at(3)).value() == 2);
  CHECK(shards.find(at(3, SIZE_MAX)).value() == 2);
  CHECK(shards.find(at(0)).value() == 0);
  CHECK(shards.find(at(8, 2)).value() == 1);

  const error unknown = shards.find(at(4)).failure();
  CHECK(unknown.code == errc::not_found);
  CHECK(unknown.message == "shards of \"w\": no shard has offset [4]");
  CHECK(shards.find(at(4, 2)).failure().code == errc::not_found);
  CHECK(shards.find(at(9)).failure().code == errc::not_found);
  CHECK(shards.find({"w", dims{3, 0}, 2}).failure().code == errc::not_found);
  CHECK(shards.find({"w", dims{}, {}}).failure().code == errc::not_found);

  const error nowhere = shards.find({"w", {}, 2}).failure();
  CHECK(nowhere.code == errc::invalid_argument);
  CHECK(nowhere.message == "shards of \"w\": it is looked up without an offset");

  const error none = held({}).find(at(3, 2)).failure();
  CHECK(none.code == errc::out_of_range);
  CHECK(none.message == "shards of \"w\": this process has none");
  CHECK(shards.find({"v", dims{3}, {}}).failure().code == errc::invalid_argument);
}

TEST_CASE("a hint is not part of what an index means") {
  CHECK(at(3, 1) == at(3));
  CHECK(at(3) != at(4));
  CHECK(at(3) != metadata_index{"w", {}, {}});
  CHECK(at(3) != metadata_index{"v", dims{3}, {}});
}

TEST_CASE("CPT-1: one shard of a key, and two, are written and read back in place") {
  const local_shards whole = held({stretch(0, 10)});
  const local_shards halves = held({stretch(6, 4), stretch(0, 6)});
  const local_shards some = held({stretch(9, 1), stretch(2, 3)});
  const std::vector<std::vector<int>> wanted = {{109}, {102, 103, 104}};
  CHECK(write_and_read(whole, some) == wanted);
  CHECK(write_and_read(halves, some) == wanted);
  CHECK(write_and_read(halves, halves) ==
        std::vector<std::vector<int>>{{106, 107, 108, 109}, {100, 101, 102, 103, 104, 105}});
  CHECK(held({}).write_items().empty());
  CHECK(held({}).chunks().empty());
}

TEST_CASE("an item says its box, its tensor and where it is found") {
  const sharding where{.offsets = {{0, 47, 48}, {1, 127, 128}, {3, 1, 2}}, .prepended_axes = 2};
  const shard_metadata expert =
      from_rank_offsets("w", {dtype_kind::bfloat16, {4, 5}}, where).value();
  const local_shards shards = held({expert});
  const box wanted{{47, 127, 0, 5}, {1, 1, 4, 5}};  // prepended axes have extent 1
  CHECK(shards.chunks() == std::vector<box>{wanted});
  REQUIRE(shards.write_items().size() == 1);
  const write_item item = shards.write_items().front();
  CHECK(item.what == write_item::kind::shard);
  CHECK(item.index == metadata_index{"w", dims{47, 127, 0, 5}, {}});
  CHECK(item.index.hint == 0);
  CHECK(item.chunk == wanted);
  CHECK(item.tensor == tensor_spec{dtype_kind::bfloat16, {48, 128, 4, 10}});

  const auto object = sharded_object::make("o", json_text{"{}"}, {{1, 8}, {0, 3}}).value();
  const write_item bytes = write_item_of(object);
  CHECK(bytes.what == write_item::kind::bytes);
  CHECK(bytes.index == metadata_index{"o/shard_0.3_1.8", {}, {}});
}

TEST_CASE("replicas and empty shards have chunks, but are not written") {
  shard_metadata copy = stretch(3, 5);
  copy.replica = {0, 1};
  const local_shards shards = held({stretch(3, 0), copy, stretch(8, 2), stretch(10, 0)});
  CHECK(shards.chunks().size() == 4);
  REQUIRE(shards.write_items().size() == 1);
  CHECK(shards.write_items().front().index.hint == 2);
  // The one that has elements, even where the hint means the other.
  CHECK(shards.find(at(3)).value() == 1);
  CHECK(shards.find(at(3, 0)).value() == 1);
  CHECK(shards.find(at(10, 3)).value() == 3);
  CHECK(shards.find(at(10)).value() == 3);
  CHECK(held({stretch(3, 0), stretch(3, 0)}).find(at(3, 1)).value() == 0);
}

TEST_CASE("shards that are not of one tensor are refused") {
  shard_metadata other = stretch(3, 5);
  other.key = "v";
  CHECK(refused({stretch(0, 3), other}).code == errc::invalid_argument);
  other = stretch(3, 5);
  other.type = dtype_kind::float64;
  CHECK(refused({stretch(0, 3), other}).message ==
        "shard of \"w\": float64[10] does not belong to the tensor float32[10]");
  CHECK(refused({stretch(0, 3), stretch(3, 5, 11)}).code == errc::invalid_argument);
  CHECK(refused({stretch(0, 3), stretch(8, 3)}).code == errc::out_of_range);
  CHECK(refused({stretch(3, 5), stretch(0, 3), stretch(3, 2)}).message ==
        "shard of \"w\": two local shards have the offset [3]");
  other = stretch(3, 5);
  other.range = flat_range{0, 5};
  CHECK(refused({other}).code == errc::unsupported);
}

TEST_CASE("many shards are found, in whatever order they come") {
  std::mt19937 random(2);
  std::vector<shard_metadata> shards;
  constexpr index_t count = 20000;
  for (index_t i = 0; i < count; ++i) shards.push_back(stretch(2 * i, 2, 2 * count));
  std::shuffle(shards.begin(), shards.end(), random);
  const local_shards all = held(std::move(shards));
  for (index_t i = 0; i < count; ++i) {
    const std::size_t found = all.find(at(2 * i, random() % count)).value();
    REQUIRE(all.shards()[found].global_offset == dims{2 * i});
  }
  CHECK(all.find(at(1)).failure().code == errc::not_found);
}

}  // namespace dcp_view_test
