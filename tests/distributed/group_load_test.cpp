// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/load_report.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/shard_values.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace group_load_test {

namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

constexpr std::uint64_t seed = 31;

shard_metadata half(std::string key, int rank, int ranks = 2) {
  return from_rank_offsets(std::move(key), {dtype_kind::float32, {12 / ranks, 3}},
                           {.offsets = {{0, rank, ranks}}})
      .value();
}

sharded_object object_on(int rank) {
  return sharded_object::make("o", json_text{"object " + std::to_string(rank)}, {{2}, {rank}, {}})
      .value();
}

void save_halves(const location& where) {
  CHECK(save_by(2, where, [](int rank) {
          return state{
              {"w", with_values(half("w", rank), seed)}, {"o", object_on(rank)}, {"step", 5}};
        }) == "done");
}

/// Three ranks want thirds of what two wrote, and all of them both objects.
std::string load_thirds(const location& where, group_load_options options = {}) {
  options.validate = false;
  return load_by(
      3, where,
      [](int rank) {
        return state{{"w", with_room(half("w", rank, 3))},
                     {"o", state::list{object_on(0).without_data(), object_on(1).without_data()}}};
      },
      [](int, const group_load_report& report) {
        std::string wrong = wrong_in(*report.loaded.find("w")->if_tensor(), seed);
        for (int i = 0; i < 2; ++i) {
          if (!(*report.loaded.find("o/" + std::to_string(i))->if_object() == object_on(i)))
            wrong += "object";
        }
        if (report.loaded.get<int>("step").value_or(0) != 5) wrong += "step";
        return wrong;
      },
      options);
}

/// Whether it is one error that all ranks have, or all is well; never silent damage.
bool is_one_answer(const std::string& said) {
  return said.find("wrong: ") == said.npos && said.find("; rank 2: ") == said.npos;
}

}  // namespace

TEST_CASE("load: what damages a checkpoint is told on all ranks, and nothing is made up") {
  const test::temp_directory folder;
  const std::string path = folder / "ckpt";
  save_halves(path);
  for (const bool once : {false, true}) CHECK(load_thirds(path, {.read_once = once}) == "done");
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  REQUIRE(files.size() == 9);
  int refused = 0;
  for (const auto& file : files) {
    CAPTURE(file.string());
    const std::string good = test::read_file(file);
    const bool is_chunk = file.string().find("/c/") != std::string::npos;
    const auto check = [&](bool must_fail) {
      for (const bool once : {false, true}) {
        const std::string said = load_thirds(path, {.read_once = once});
        CAPTURE(said);
        CHECK(is_one_answer(said));
        if (said != "done") ++refused;
        if (must_fail) CHECK(said != "done");
        if (must_fail && is_chunk)
          CHECK((said.find("\"w\"") != said.npos || said.find("\"o/shard_") != said.npos ||
                 said.find("common_state") != said.npos));
      }
    };
    test::write_file(file, good.substr(0, good.size() / 2));
    check(is_chunk);
    std::string flipped = good;
    flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 0x40);
    test::write_file(file, flipped);
    check(is_chunk);
    test::write_file(file, "");
    check(is_chunk);
    std::filesystem::remove(file);
    check(is_chunk);
    test::write_file(file, good);
  }
  // All of the four chunks, and the root's document.
  CHECK(refused >= 2 * 4 * 5 + 8);
  CHECK(load_thirds(path) == "done");
}

TEST_CASE("load: another dtype needs a cast, another grid of objects is refused") {
  const memory_store store;
  save_halves(store);
  const auto nothing = [](int, const group_load_report&) { return std::string(); };
  for (const bool once : {false, true}) {
    const auto request = [](int rank) {
      shard_metadata one = half("w", rank);
      if (rank == 1) one.type = dtype_kind::float64;
      return state{{"w", sharded_tensor(one)}};
    };
    CHECK(
        load_by(2, store, request, nothing, {.read_once = once}) ==
        "dtype_mismatch: rank 1: load from memory:: tensor \"w\": stored dtype is float32, wanted "
        "float64; set load_options::cast to convert it");
    const group_load_options cast{.storage = {.cast = true}, .validate = false, .read_once = once};
    CHECK(load_by(2, store, request, nothing, cast) == "done");
    const auto object = [](int rank) {
      return state{{"o", sharded_object::request("o", {{3}, {rank}, {}}).value()}};
    };
    const std::string said = load_by(2, store, object, nothing, {.read_once = once});
    CAPTURE(said);
    CHECK(said.starts_with("shape_mismatch: "));
    CHECK(said.find("objects are not resharded") != said.npos);
    CHECK(said.find("rank 0: shape") == said.npos);
  }
}

TEST_CASE("load: a tensor is asked for as an object, and the other way round") {
  const memory_store store;
  save_halves(store);
  const auto nothing = [](int, const group_load_report&) { return std::string(); };
  for (const bool once : {false, true}) {
    for (const strictness mode :
         {strictness::assume_ok_unexpected, strictness::raise_all, strictness::ignore_all}) {
      const std::string tensor_of_object =
          load_by(2, store,
                  [](int rank) {
                    return state{{"x", sharded_tensor(half("o", rank))},
                                 {"w", sharded_tensor(half("w", rank))}};
                  },
                  nothing, {.strict = mode, .read_once = once});
      CHECK(tensor_of_object == "not_found: ranks 0, 1: memory: has no tensor \"o\"");
      const std::string object_of_tensor =
          load_by(2, store,
                  [](int rank) {
                    return state{{"x", sharded_object::request("w", {{2}, {rank}, {}}).value()},
                                 {"o", object_on(rank).without_data()}};
                  },
                  nothing, {.strict = mode, .read_once = once});
      CAPTURE(object_of_tensor);
      CHECK(object_of_tensor.starts_with("not_found: "));
      CHECK(object_of_tensor.find("no object \"w\"") != object_of_tensor.npos);
    }
  }
}

TEST_CASE("load: read-only values, contradicting trees and requests that overlap") {
  const memory_store store;
  save_halves(store);
  const auto nothing = [](int, const group_load_report&) { return std::string(); };
  const std::string read_only = load_by(
      2, store,
      [](int rank) {
        return state{
            {"w", sharded<const std::vector<float>>::make(half("w", rank), std::vector<float>(18))
                      .value()}};
      },
      nothing);
  CHECK(read_only.find("its local value is read-only") != read_only.npos);
  // "step" is a common value of the checkpoint.
  const std::string both = load_by(
      2, store,
      [](int rank) {
        return state{{"step", sharded_tensor(half("w", rank))}};
      },
      nothing);
  CHECK(both.starts_with("invalid_argument: "));
  CHECK(both.find("\"step\"") != both.npos);
}

TEST_CASE("VAL-3: requests that do not tile are refused, unless the caller allows them") {
  const memory_store store;
  save_halves(store);
  const auto nothing = [](int, const group_load_report&) { return std::string(); };
  const auto all_of_it = [](int) { return state{{"w", sharded_tensor(half("w", 0, 1))}}; };
  const auto twice = [](int rank) {
    return state{{"a", sharded_tensor(half("w", rank))}, {"b", sharded_tensor(half("w", rank))}};
  };
  const auto nobodys = [](int rank) {
    shard_metadata one = half("w", rank);
    one.replica = 1;
    return state{{"w", sharded_tensor(one)}};
  };
  const auto some = [](int) { return state{{"w", sharded_tensor(half("w", 0))}}; };
  const auto one_object = [](int rank) {
    return rank == 0 ? state{{"o", object_on(0).without_data()}} : state(state::map{});
  };
  const auto check = [&](const auto& request, const std::string& key) {
    for (const bool once : {false, true}) {
      const std::string refused = load_by(2, store, request, nothing, {.read_once = once});
      CAPTURE(refused);
      CHECK(refused.starts_with("invalid_argument: "));
      CHECK(refused.find("load from memory:: ") != refused.npos);
      CHECK(refused.find('"' + key + '"') != refused.npos);
      CHECK(refused.find("group_load_options::validate = false allows it") != refused.npos);
      CHECK(load_by(2, store, request, nothing, {.validate = false, .read_once = once}) == "done");
    }
  };
  check(all_of_it, "w");
  check(twice, "w");
  check(nobodys, "w");
  check(some, "w");
  check(one_object, "o");
  // Alone, too: a part of a tensor is not all of it.
  CHECK(load_by(1, store, some, nothing).starts_with("invalid_argument: "));
  CHECK(load_by(1, store, some, nothing, {.validate = false}) == "done");
  // Replicas of one main replica tile.
  const auto replicas = [](int rank) {
    shard_metadata one = half("w", 0, 1);
    one.replica = rank;
    return state{{"w", sharded_tensor(one)}};
  };
  CHECK(load_by(2, store, replicas, nothing) == "done");
}

TEST_CASE("load: rules by key let a tensor be cast, or have another extent, and no other") {
  const memory_store store;
  CHECK(save_by(2, store, [](int rank) {
          const auto part = [&](const char* key) {
            return shard(key, std::vector<float>{1.5F, 2.5F}, {.offsets = {{0, rank, 2}}}).value();
          };
          return state{{"a", part("a")}, {"b", part("b")}};
        }) == "done");
  const auto request = [](const char* key, dtype type, index_t extent) {
    return [=](int rank) {
      return state{
          {"x",
           sharded_tensor(
               from_rank_offsets(key, {type, {extent}}, {.offsets = {{0, rank, 2}}}).value())}};
    };
  };
  const auto holds = [](std::vector<double> expected) {
    return [expected](int rank, const group_load_report& report) -> std::string {
      const auto* x = report.loaded.find("x")->if_tensor()->get<tensor>();
      const std::size_t each = expected.size() / 2;
      for (std::size_t i = 0; i < each; ++i)
        if (x->data<double>()[i] != expected[static_cast<std::size_t>(rank) * each + i])
          return "an element";
      return "";
    };
  };
  const dtype f64 = dtype_kind::float64;
  const load_options rules{
      .rules = {{.glob = "a", .cast = f64}, {.glob = "b", .cast = f64, .shape = dims{6}}}};
  for (const bool once : {false, true}) {
    CAPTURE(once);
    const group_load_options how{.storage = rules, .read_once = once};
    CHECK(load_by(2, store, request("a", f64, 2), holds({1.5, 2.5, 1.5, 2.5}), how) == "done");
    CHECK(load_by(2, store, request("b", f64, 3), holds({1.5, 2.5, 1.5, 2.5, 0, 0}), how) ==
          "done");
    const auto nothing = [](int, const group_load_report&) { return std::string(); };
    // What no rule names is as strict as ever, and a request of another kind than its rule wrong.
    CHECK(load_by(2, store, request("a", f64, 3), nothing, how).starts_with("shape_mismatch"));
    CHECK(load_by(2, store, request("a", f64, 2), nothing,
                  {.storage = {.rules = {{.glob = "b", .cast = f64}}}, .read_once = once})
              .starts_with("dtype_mismatch"));
    CHECK(
        load_by(2, store, request("a", dtype_kind::float32, 2), nothing, how) ==
        "invalid_argument: ranks 0, 1: load \"a\": float32 is asked for, and a rule says float64");
    CHECK(load_by(2, store, request("b", f64, 2), nothing, how) ==
          "invalid_argument: ranks 0, 1: load \"b\": shape [4] is asked for, and a rule says [6]");
  }
}

TEST_CASE("load: a rule that matches no tensor is a warning, and an error on request") {
  const memory_store store;
  save_halves(store);
  for (const bool once : {false, true}) {
    load_report told;
    const auto run = [&](load_options storage) {
      return load_by(
          1, store,
          [](int) {
            return state{{"w", with_room(half("w", 0, 1))}};
          },
          [](int, const group_load_report& report) {
            const std::vector<std::string> lost{"the rule for \"v*\" matches no leaf"};
            return std::string(report.warnings == lost ? "" : "no warning");
          },
          {.storage = std::move(storage), .read_once = once});
    };
    CHECK(run({.rules = {{.glob = "w"}, {.glob = "v*"}}, .report = &told}) == "done");
    CHECK(told.warnings == std::vector<std::string>{"the rule for \"v*\" matches no leaf"});
    REQUIRE(told.leaves.size() == 1);
    CHECK(told.leaves[0].name == "w");
    CHECK(told.leaves[0].bytes == 144);
    CHECK(run({.rules = {{.glob = "v*"}}, .rules_must_match = true})
              .find("the rule for \"v*\" matches no leaf") != std::string::npos);
  }
}

TEST_CASE("load: a rank that dies is named, and nobody waits") {
  const memory_store store;
  save_halves(store);
  for (const bool once : {false, true}) {
    const auto results = thread_world::run(3, [&](const thread_communicator& self) -> result<void> {
      if (self.rank() == 2) return error{errc::io, "out of power"};
      return load(store, state{{"w", sharded_tensor(half("w", self.rank()))}}, group_of(self),
                  {.read_once = once})
          .transform([](const auto&) {});
    });
    for (int rank = 0; rank < 2; ++rank) {
      const auto& one = results[static_cast<std::size_t>(rank)];
      REQUIRE_FALSE(one);
      CHECK(one.failure().code == errc::unavailable);
      CHECK(one.failure().message.find("rank 2 is gone") != std::string::npos);
      CHECK(one.failure().message.find("out of power") != std::string::npos);
    }
  }
}

}  // namespace group_load_test
