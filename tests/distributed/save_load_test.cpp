// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/distributed/state/sharded_factory.hpp>
#include <zarrpoint/distributed/state/state_ops.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/shard_values.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

// The scenarios of Megatron-Core's tests of saving and loading, by their numbers.

namespace save_load_test {

namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

constexpr int world = 8;

/// A tensor of which each rank has all; rank `main` stores it.
shard_metadata replicated(std::string key, dims shape, int rank, int main = 0) {
  return {.key = std::move(key),
          .type = dtype_kind::float32,
          .local_shape = shape,
          .global_shape = shape,
          .global_offset = dims(shape.rank(), 0),
          .fragmentation = dims(shape.rank(), 1),
          .replica = rank == main ? 0 : 1 + rank};
}

shard_metadata part(std::string key, dims local, std::vector<axis_fragment> offsets) {
  return from_rank_offsets(std::move(key), {dtype_kind::float32, local},
                           {.offsets = std::move(offsets)})
      .value();
}

/// Every shard of the loaded state is what it should be; `count` of them.
std::string wrong_values(const group_load_report& report, std::size_t count, std::uint64_t seed) {
  std::string wrong;
  std::size_t found = 0;
  static_cast<void>(for_each_leaf(report.loaded, [&](const state& leaf) {
    if (const sharded_tensor* one = leaf.if_tensor()) {
      ++found;
      wrong += wrong_in(*one, seed);
    }
  }));
  return found == count ? wrong : std::to_string(found) + " shards; " + wrong;
}

/// Lengths of the shards of a tensor of rank 1: those of each rank follow those of the one before.
using lengths = std::vector<std::vector<index_t>>;

lengths one_each(const std::vector<index_t>& of) {
  lengths out;
  for (const index_t length : of) out.push_back({length});
  return out;
}

std::vector<std::vector<shard_metadata>> uneven(const lengths& of) {
  index_t total = 0;
  for (const auto& rank : of) total = std::accumulate(rank.begin(), rank.end(), total);
  std::vector<std::vector<shard_metadata>> out(of.size());
  index_t at = 0;
  for (std::size_t rank = 0; rank < of.size(); ++rank) {
    for (const index_t length : of[rank]) {
      out[rank].push_back({.key = "uneven",
                           .type = dtype_kind::int64,
                           .local_shape = {length},
                           .global_shape = {total},
                           .global_offset = {at}});
      at += length;
    }
  }
  return out;
}

void check_uneven(const lengths& saved, const lengths& loaded) {
  CAPTURE(saved.size());
  const auto from = uneven(saved);
  const auto to = uneven(loaded);
  for (const bool fully_parallel : {false, true}) {
    for (const bool once : {false, true}) {
      const memory_store store;
      group_save_options how;
      how.fully_parallel = fully_parallel;
      CHECK(save_by(
                static_cast<int>(from.size()), store,
                [&](int rank) {
                  state::list shards;
                  for (const auto& one : from[static_cast<std::size_t>(rank)])
                    shards.emplace_back(with_values(one, 15));
                  return state{{"shards", std::move(shards)}};
                },
                how) == "done");
      CHECK(load_by(
                static_cast<int>(to.size()), store,
                [&](int rank) {
                  state::list shards;
                  for (const auto& one : to[static_cast<std::size_t>(rank)])
                    shards.emplace_back(sharded_tensor(one));
                  return state{{"shards", std::move(shards)}};
                },
                [&](int rank, const group_load_report& report) {
                  return wrong_values(report, to[static_cast<std::size_t>(rank)].size(), 15);
                },
                {.read_once = once}) == "done");
    }
  }
}

}  // namespace

TEST_CASE("SER-1: default strategies are found by what they do") {
  const strategy_table table = default_strategies::table();
  CHECK(to_string(table.find(strategy_action::save_sharded, {"zarr", 3}).value()) ==
        "zarr_saver(zarr, 3)");
  CHECK(to_string(table.find(strategy_action::load_sharded, {"zarr", 3}).value()) ==
        "zarr_loader(zarr, 3)");
  CHECK(to_string(table.find(strategy_action::save_common, {"json", 1}).value()) ==
        "json_common_saver(json, 1)");
  CHECK(to_string(table.find(strategy_action::load_common, {"json", 1}).value()) ==
        "json_common_loader(json, 1)");
  CHECK_FALSE(table.find(strategy_action::load_sharded, {"torch_dist", 1}));
}

TEST_CASE("SER-2: a request has names of its own, and gets what it asks for and nothing else") {
  const test::temp_directory folder;
  const std::string path = folder / "ckpt";
  CHECK(save_by(world, path, [](int rank) {
          return state{{"sd_keyA", with_values(replicated("keyA", {2, 4}, rank), 2)},
                       {"sd_keyB", with_values(replicated("keyB", {3, 5, 7}, rank), 2)}};
        }) == "done");
  CHECK(std::filesystem::is_directory(folder / "ckpt/keyA"));
  CHECK(std::filesystem::is_directory(folder / "ckpt/keyB"));
  CHECK_FALSE(std::filesystem::exists(folder / "ckpt/keyC"));
  CHECK_FALSE(std::filesystem::exists(folder / "ckpt/sd_keyA"));
  CHECK(load_by(
            world, path,
            [](int rank) {
              return state{{"other", sharded_tensor(replicated("keyA", {2, 4}, rank))}};
            },
            [](int, const group_load_report& report) {
              const state::map* members = report.loaded.if_map();
              if (members == nullptr || members->size() != 1 || !members->contains("other"))
                return std::string("other members");
              return wrong_values(report, 1, 2);
            }) == "done");
}

TEST_CASE("SER-3: shards along different axes, and common values") {
  const test::temp_directory folder;
  const std::string path = folder / "ckpt";
  const auto shards = [](int rank) {
    return std::pair(part("keyA", {2, 4}, {{0, rank, world}}),
                     part("keyB", {3, 5, 7}, {{2, rank, world}}));
  };
  CHECK(save_by(world, path, [&](int rank) {
          const auto [a, b] = shards(rank);
          return state{{"a", with_values(a, 3)},
                       {"b", with_values(b, 3)},
                       {"lr", 0.01},
                       {"rank", local_only(rank)}};
        }) == "done");
  for (const char* key : {"keyA", "keyB"})
    CHECK(std::filesystem::is_directory(folder.path() / "ckpt" / key));
  CHECK(load_by(
            world, path,
            [&](int rank) {
              const auto [a, b] = shards(rank);
              return state{{"a", sharded_tensor(a)},
                           {"b", sharded_tensor(b)},
                           {"rank", local_only(rank + 100)}};
            },
            [](int rank, const group_load_report& report) {
              if (report.loaded.get<double>("lr").value_or(0) != 0.01) return std::string("lr");
              const local_only* local = report.loaded.find("rank")->if_local();
              if (local == nullptr || *local->get<int>() != rank + 100) return std::string("rank");
              return wrong_values(report, 2, 3);
            }) == "done");
}

TEST_CASE("SER-4: a common state that differs is named, rank by rank, with its path") {
  const memory_store store;
  const auto saved = thread_world::run(world, [&](const thread_communicator& self) {
    return save(store, state{{"a", 1}, {"rank", self.rank()}}, group_of(self));
  });
  for (const auto& one : saved) {
    REQUIRE(one);
    REQUIRE(one->warnings.size() == world - 1);
    for (int rank = 1; rank < world; ++rank) {
      const std::string& text = one->warnings[static_cast<std::size_t>(rank - 1)];
      CAPTURE(text);
      CHECK(text.find("rank " + std::to_string(rank) + " differs") != text.npos);
      CHECK(text.find("\"rank\"") != text.npos);
      CHECK(text.find("\"a\"") == text.npos);
    }
  }
  CHECK(load_common_state(store).value().get<int>("rank").value() == 0);
}

TEST_CASE("SER-4: what may differ by design is left out of the comparison, and stored by rank 0") {
  const memory_store store;
  const auto state_of = [](int rank) {
    return state{
        {"step", 7}, {"seed", rank}, {"a", with_values(part("A", {2, 4}, {{1, rank, 8}}), 1)}};
  };
  const auto save_with = [&](const group_save_options& options) {
    std::vector<std::string> warnings;
    for (const auto& one : thread_world::run(world, [&](const thread_communicator& self) {
           return save(store, state_of(self.rank()), group_of(self), options);
         })) {
      REQUIRE(one);
      warnings = one->warnings;
    }
    return warnings;
  };
  CHECK(save_with({}).size() == world - 1);
  const group_save_options how{.compared_common = [](json common) {
    std::erase_if(*common.if_object(), [](const json::member& m) { return m.key == "seed"; });
    return common;
  }};
  CHECK(save_with(how).empty());
  const state common = load_common_state(store).value();
  CHECK(common.get<int>("seed").value() == 0);
  CHECK(common.get<int>("step").value() == 7);
}

TEST_CASE("SER-5: another partition, also with a prepended axis") {
  const memory_store store;
  // TP 2 x PP 4: rank = 2 * pipeline + tensor.
  CHECK(save_by(world, store, [](int rank) {
          return state{
              {"a", with_values(part("A", {1, 1}, {{0, rank % 2, 2}, {1, rank / 2, 4}}), 5)},
              {"b", with_values(part("B", {4, 5, 10}, {{2, rank, 8}}), 5)}};
        }) == "done");
  CHECK(load_by(
            1, store,
            [](int) {
              return state{{"a", sharded_tensor(part("A", {2, 4}, {}))},
                           {"b", sharded_tensor(part("B", {4, 5, 80}, {}))}};
            },
            [](int, const group_load_report& report) { return wrong_values(report, 2, 5); }) ==
        "done");
  // TP 1 x PP 2: four data parallel ranks, of which each has a column of A and a layer of B.
  CHECK(load_by(
            world, store,
            [](int rank) {
              const shard_metadata layer =
                  from_rank_offsets(
                      "B", {dtype_kind::float32, {5, 80}},
                      {.offsets = {{0, rank % 4, 4}}, .replica = rank / 4, .prepended_axes = 1})
                      .value();
              shard_metadata column = part("A", {2, 1}, {{1, rank % 4, 4}});
              column.replica = rank / 4;
              return state{{"a", sharded_tensor(column)}, {"b", with_room(layer)}};
            },
            [](int, const group_load_report& report) { return wrong_values(report, 2, 5); }) ==
        "done");
}

TEST_CASE("SER-6: what tensors there are, each as a request for the whole of it") {
  const memory_store store;
  CHECK(save_by(world, store, [](int rank) {
          return state{{"x", with_values(part("keyA", {10}, {{0, rank, 8}}), 6)},
                       {"y", with_values(part("keyB", {3, 5, 7}, {{2, rank, 8}}), 6)}};
        }) == "done");
  const auto all = load_tensors_metadata(store);
  REQUIRE(all);
  REQUIRE(all->size() == 2);
  const shard_metadata& b = all->at("keyB").metadata();
  CHECK(b.global_shape == dims{3, 5, 56});
  CHECK(b.local_shape == b.global_shape);
  CHECK(b.global_offset == dims{0, 0, 0});
  CHECK(b.fragmentation == dims{1, 1, 1});
  CHECK(b.replica.is_main());
  CHECK_FALSE(all->at("keyA").has_data());
  CHECK(all->at("keyA").metadata().global_shape == dims{80});
  CHECK(load_by(
            3, store,
            [&](int) {
              return state{{"a", all->at("keyA")}, {"b", all->at("keyB")}};
            },
            [](int, const group_load_report& report) { return wrong_values(report, 2, 6); },
            {.validate = false}) == "done");
}

TEST_CASE("SER-7: tensors and factories in one list keep their places") {
  const auto list_of = [](int base, int rank) {
    const auto values = [&](std::string key, int count) {
      std::vector<int> data(static_cast<std::size_t>(count));
      std::iota(data.begin(), data.end(), base);
      return shard(std::move(key), std::move(data), {.replica = rank}).value();
    };
    const auto build = [](const factory_source<std::vector<int>>& from) -> result<state> {
      state::list parts;
      for (int i = 0; i < 3; ++i) {
        ZARRPOINT_TRY(one, shard(from.key + "part" + std::to_string(i), std::vector<int>(from.data),
                                 {.replica = from.replica}));
        parts.emplace_back(one);
      }
      return state(std::move(parts));
    };
    const auto sum = [](const state& loaded) -> result<state> {
      std::vector<int> out(5, 0);
      for (int i = 0; i < 3; ++i) {
        const auto* one = loaded.find(std::to_string(i))->if_tensor()->get<std::vector<int>>();
        for (std::size_t n = 0; n < out.size(); ++n) out[n] += (*one)[n];
      }
      return state(local_only(out));
    };
    std::vector<int> source(5);
    std::iota(source.begin(), source.end(), base);
    return state::list{values("A", 2), values("B", 3), values("C", 4),
                       sharded_factory("D", source, build, sum).with_replica(rank)};
  };
  const memory_store store;
  CHECK(save_by(world, store, [&](int rank) { return state(list_of(0, rank)); }) == "done");
  CHECK(load_by(
            world, store, [&](int rank) { return state(list_of(10, rank)); },
            [](int, const group_load_report& report) {
              const state::list* list = report.loaded.if_list();
              if (list == nullptr || list->size() != 4) return std::string("no list of 4");
              for (std::size_t i = 0; i < 3; ++i) {
                std::vector<int> expected(2 + i);
                std::iota(expected.begin(), expected.end(), 0);
                const sharded_tensor* one = (*list)[i].if_tensor();
                if (one == nullptr || *one->get<std::vector<int>>() != expected)
                  return "element " + std::to_string(i);
              }
              const local_only* merged = (*list)[3].if_local();
              if (merged == nullptr ||
                  *merged->get<std::vector<int>>() != std::vector{0, 3, 6, 9, 12})
                return std::string("the factory");
              return std::string();
            }) == "done");
}

TEST_CASE("SER-8: no directory, no checkpoint, no such key: said on all ranks") {
  const test::temp_directory folder;
  const std::string path = folder / "ckpt";
  const auto request = [](int rank) {
    return state{{"a", sharded_tensor(replicated("keyA", {2}, rank))},
                 {"b", sharded_tensor(replicated(rank < 2 ? "keyA" : "keyUnknown", {2}, rank))}};
  };
  const auto unused = [](int, const group_load_report&) { return std::string(); };
  CHECK(load_by(world, path, request, unused) ==
        "not_found: ranks 0-7: Checkpoint directory " + path + " does not exist");
  std::filesystem::create_directory(path);
  CHECK(load_by(world, path, request, unused) ==
        "not_found: ranks 0-7: " + path + " is not a distributed checkpoint");
  CHECK(save_by(world, path, [](int rank) {
          return state{{"a", with_values(replicated("keyA", {2}, rank), 8)}};
        }) == "done");
  const std::string said = load_by(world, path, request, unused);
  CAPTURE(said);
  CHECK(said.starts_with("not_found: "));
  CHECK(said.find("\"keyUnknown\"") != said.npos);
  CHECK(said.find("rank 0: not_found") == said.npos);  // one text for all
}

TEST_CASE("SER-9: objects come back under another name") {
  const memory_store store;
  const std::string bytes("\0\1\xff byte stream", 15);
  const auto object = [&](int rank) {
    return sharded_object::from_bytes("someobj", {as_bytes(bytes).begin(), as_bytes(bytes).end()},
                                      {.replica = rank})
        .value();
  };
  CHECK(save_by(world, store, [&](int rank) {
          return state{{"some_key", object(rank)}};
        }) == "done");
  CHECK(load_by(
            world, store,
            [&](int rank) {
              return state{{"other_key", object(rank).without_data()}};
            },
            [&](int, const group_load_report& report) {
              const sharded_object* one = report.loaded.find("other_key")->if_object();
              return as_text(one->bytes()) == bytes ? std::string() : std::string("bytes");
            }) == "done");
}

TEST_CASE("SER-10: another global shape: refused, or cut and padded with zeros") {
  const memory_store store;
  CHECK(save_by(world, store, [](int rank) {
          return state{{"a", with_values(part("A", {2, 4}, {{1, rank, 8}}), 10)}};
        }) == "done");
  const auto request = [](int rank, index_t width, bool flexible) {
    shard_metadata one = part("A", {2, width}, {{1, rank, 4}});
    one.allow_shape_mismatch = flexible;
    return state{{"a", with_room(one)}};
  };
  for (const bool once : {false, true}) {
    // 4 x 12 has a rank whose part begins within the stored tensor and one that is all padding.
    for (const index_t width : {7, 9, 12}) {
      CAPTURE(width);
      const std::string rigid = load_by(
          4, store, [&](int rank) { return request(rank, width, false); },
          [](int, const group_load_report&) { return std::string(); }, {.read_once = once});
      CHECK(rigid ==
            "shape_mismatch: ranks 0-3: load from memory:: Global shape mismatch for loaded ((2, "
            "32)) "
            "and expected ((2, " +
                std::to_string(4 * width) + ")) tensor for key A");
      for (const auto padding : {shard_padding::zeros, shard_padding::replicate}) {
        CHECK(load_by(
                  4, store, [&](int rank) { return request(rank, width, true); },
                  [&](int, const group_load_report& report) {
                    return wrong_in(*report.loaded.find("a")->if_tensor(), 10, {2, 32}, padding);
                  },
                  {.read_once = once, .padding = padding}) == "done");
      }
    }
  }
}

TEST_CASE("SER-10: padding by the last elements: along two axes, for all who ask for a shard") {
  const memory_store store;
  CHECK(save_by(2, store, [](int rank) {
          return state{{"a", with_values(part("A", {3, 4}, {{1, rank, 2}}), 10)}};
        }) == "done");
  // Each of 2 x 3 shards of 4 x 5 is asked for by two processes; some are padding altogether.
  for (const bool once : {false, true}) {
    CHECK(load_by(
              12, store,
              [](int rank) {
                shard_metadata one = part("A", {4, 5}, {{0, rank % 2, 2}, {1, rank / 2 % 3, 3}});
                one.replica = rank / 6;
                one.allow_shape_mismatch = true;
                if (rank % 3 == 1) one.range = flat_range{3, 17};
                return state{{"a", with_room(one)}};
              },
              [](int, const group_load_report& report) {
                return wrong_in(*report.loaded.find("a")->if_tensor(), 10, {3, 8},
                                shard_padding::replicate);
              },
              {.validate = false, .read_once = once, .padding = shard_padding::replicate}) ==
          "done");
  }
}

TEST_CASE("SER-10: strings are padded by empty ones, or by the last ones") {
  const memory_store store;
  const auto words = [](const dims& shape, std::vector<std::string> values) {
    const auto about =
        from_rank_offsets("words", {dtype_kind::string, shape}, {.allow_shape_mismatch = true});
    return sharded<std::vector<std::string>>::make(about.value(), std::move(values)).value();
  };
  CHECK(save_by(1, store, [&](int) {
          return state{{"words", words({2, 2}, {"a", "b", "c", "much longer than the others"})}};
        }) == "done");
  const std::string longest = "much longer than the others";
  const std::vector<std::string> zeros{"a", "b", "", "c", longest, "", "", "", ""};
  const std::vector<std::string> last{"a", "b", "b", "c", longest, longest, "c", longest, longest};
  for (const auto padding : {shard_padding::zeros, shard_padding::replicate}) {
    const auto room = words({3, 3}, std::vector<std::string>(9, "before"));
    CHECK(load_by(
              1, store,
              [&](int) {
                return state{{"words", room}};
              },
              [](int, const group_load_report&) { return std::string(); },
              {.padding = padding}) == "done");
    CHECK(room.value() == (padding == shard_padding::zeros ? zeros : last));
  }
}

TEST_CASE("SER-11: tensors of a prefix are removed, and nothing else") {
  const test::temp_directory folder;
  const std::string path = folder / "ckpt";
  CHECK(save_by(world, path, [](int rank) {
          return state{
              {"a", with_values(part("keyA", {2, 4}, {{0, rank, 8}}), 11)},
              {"b", with_values(part("prefix_key_to_remove", {3, 5}, {{1, rank, 8}}), 11)}};
        }) == "done");
  CHECK(remove_sharded_tensors(path, "prefix_key").value() ==
        std::vector<std::string>{"prefix_key_to_remove"});
  CHECK_FALSE(std::filesystem::exists(folder / "ckpt/prefix_key_to_remove"));
  const auto left = load_tensors_metadata(path);
  REQUIRE(left);
  CHECK(left->size() == 1);
  CHECK(load_by(
            2, path,
            [&](int) {
              return state{{"a", left->at("keyA")}};
            },
            [](int, const group_load_report& report) { return wrong_values(report, 1, 11); },
            {.validate = false}) == "done");
}

TEST_CASE("SER-12: ranks that have nothing sharded save and load too") {
  const memory_store store;
  const auto state_on = [](int rank, bool values) {
    if (rank == 0) return state{{"common", "of rank 0"}};
    if (rank < 3) return state{{"common", "not stored"}};
    const shard_metadata x = replicated("x", {2, 3}, rank, 3);
    return state{{"common", "of rank 0"}, {"x", values ? with_values(x, 12) : sharded_tensor(x)}};
  };
  CHECK(save_by(world, store, [&](int rank) { return state_on(rank, true); }) == "done");
  CHECK(load_by(
            world, store, [&](int rank) { return state_on(rank, false); },
            [](int rank, const group_load_report& report) {
              if (report.loaded.get<std::string>("common").value_or("") != "of rank 0")
                return std::string("common");
              return wrong_values(report, rank < 3 ? 0 : 1, 12);
            }) == "done");
  CHECK(load_by(
            world, store, [&](int) { return state(); },
            [](int, const group_load_report& report) {
              return report.loaded.find("common") == nullptr ? std::string("common")
                                                             : std::string();
            }) == "done");
}

TEST_CASE("SER-13, SER-14: content metadata come back, empty ones are not absent ones") {
  const json nested = json::object{
      {"a", 3}, {"nested", json::object{{"list", json::array{1, 2.5, json()}}, {"none", json()}}}};
  for (const json& content : {json(json::object{{"a", 3}}), nested, json(json::object{})}) {
    const memory_store store;
    group_save_options how;
    how.content_metadata = content;
    CHECK(save_by(
              world, store,
              [](int) {
                return state{{"lr", 1}};
              },
              how) == "done");
    CHECK(load_content_metadata(store).value() == content);
    CHECK(load_by(
              2, store, [](int) { return state(); },
              [&](int, const group_load_report& report) {
                if (report.loaded.find("content_metadata") != nullptr)
                  return std::string("left in");
                return report.content_metadata == content ? std::string() : std::string("other");
              }) == "done");
  }
  const memory_store store;
  CHECK(save_by(2, store, [](int) { return state{{"lr", 1}}; }) == "done");
  CHECK(load_content_metadata(store).value().is_null());
}

TEST_CASE("SER-15: uneven shards of one axis, empty ones among them") {
  const lengths threes = one_each(std::vector<index_t>(8, 3));
  const lengths mixed = one_each({1, 5, 7, 3, 6, 2, 5, 4});
  check_uneven(threes, threes);
  check_uneven(one_each({1, 2, 3, 4, 5, 6, 7, 8}), one_each({8, 7, 6, 5, 4, 3, 2, 1}));
  check_uneven(mixed, mixed);
  check_uneven(one_each({2, 2, 2, 2, 2, 2, 2, 1}), one_each({1, 2, 2, 2, 2, 2, 2, 2}));
  check_uneven(one_each({2, 2, 2, 2, 2, 2, 2, 10}), one_each({3, 3, 3, 3, 3, 3, 3, 3}));
  check_uneven(threes, one_each({1, 1, 1, 1, 1, 1, 2, 16}));
  check_uneven(mixed, one_each({14, 3, 6, 3, 1, 1, 2, 3}));
  check_uneven(one_each({5, 5, 5, 5, 5, 5, 0, 0}), one_each({5, 0, 5, 0, 5, 5, 3, 7}));
  check_uneven(one_each({15, 0, 0, 0, 0, 0, 0, 0}), one_each({0, 0, 0, 3, 3, 3, 3, 3}));
}

TEST_CASE("SER-16: several shards of one tensor on one rank") {
  const lengths threes(8, std::vector<index_t>{3});
  const lengths scattered{{2, 4}, {}, {5}, {}, {5, 9}, {}, {1, 1, 1, 1, 1}, {}};
  check_uneven({{}, {}, {}, {}, {}, {}, {}, {3, 3}}, {{2, 2}, {}, {1}, {}, {}, {}, {}, {1}});
  check_uneven({{4}, {}, {7, 8}, {}, {1, 1, 1, 1, 1}, {}, {}, {3, 3}}, scattered);
  lengths wide(8, std::vector<index_t>{2});
  for (std::size_t i = 5; i < 8; ++i) wide[i] = {10};
  check_uneven(wide, lengths(wide.rbegin(), wide.rend()));
  lengths halves(8);
  for (std::size_t i = 0; i < 4; ++i) halves[i] = {2, 4};
  check_uneven(threes, halves);
}

TEST_CASE("SER: 8-bit floats, common containers and holes come back") {
  const memory_store store;
  const auto shards = [](int rank) {
    std::vector<shard_metadata> out;
    for (const dtype_kind kind : {dtype_kind::float8_e4m3fn, dtype_kind::float8_e5m2,
                                  dtype_kind::bfloat16, dtype_kind::float16}) {
      shard_metadata one = part("f" + std::to_string(out.size()), {3, 2}, {{0, rank, 4}});
      one.type = kind;
      out.push_back(one);
    }
    return out;
  };
  const auto tree = [&](int rank, bool values) {
    state::list list{state(), 1, state::map{}, state::list{}, nullptr, true, 2.5, "text"};
    for (const shard_metadata& one : shards(rank))
      list.emplace_back(values ? with_values(one, 8) : with_room(one));
    return state{{"mixed", std::move(list)}};
  };
  CHECK(save_by(4, store, [&](int rank) { return tree(rank, true); }) == "done");
  for (const bool once : {false, true}) {
    CHECK(load_by(
              4, store, [&](int rank) { return tree(rank, false); },
              [&](int rank, const group_load_report& report) {
                const auto differing = diff(report.loaded, tree(rank, true));
                if (!differing) return to_string(differing.failure());
                return to_string(*differing);
              },
              {.read_once = once}) == "done");
  }
}

}  // namespace save_load_test
