// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/load/match_keys.hpp>
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/distributed/state/state_ops.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/shard_values.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace match_keys_test {

namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

constexpr int world = 8;
constexpr std::uint64_t seed = 3;
using names = std::set<std::string, std::less<>>;

std::vector<strictness> all_modes() {
  std::vector<strictness> out;
  for (int i = 0; i <= static_cast<int>(strictness::ignore_all); ++i)
    out.push_back(static_cast<strictness>(i));
  return out;
}

sharded_tensor tensor_of(const std::string& key, dims shape, const sharding& where, bool values) {
  const auto about = from_rank_offsets(key, {dtype_kind::float32, shape}, where).value();
  return values ? with_values(about, seed) : sharded_tensor(about);
}

sharded_object object_of(const std::string& key, const object_place& where, bool values) {
  const auto out =
      sharded_object::make(key, json_text{key + to_string(where.global_offset)}, where).value();
  return values ? out : out.without_data();
}

/// The base of Megatron-Core's tests: TenA replicated, TenB in 8 shards, TenC with its main replica
/// on the last rank, ObjA replicated, ObjB one for each rank.
state base(int rank, bool values) {
  return state{
      {"TenA", tensor_of("TenA", {2}, {.replica = rank}, values)},
      {"TenB", tensor_of("TenB", {3}, {.offsets = {{0, rank, world}}}, values)},
      {"TenC", tensor_of("TenC", {3}, {.replica = world - 1 - rank}, values)},
      {"ObjA", object_of("ObjA", {.replica = rank}, values)},
      {"ObjB", object_of("ObjB", {{1, world}, {0, rank}, {}}, values)},
      {"nested", state{{"empty", state::map{}}}},
  };
}

memory_store saved_base() {
  memory_store out;
  CHECK(save_by(world, out, [](int rank) { return base(rank, true); }) == "done");
  return out;
}

std::string wrong_in_base(const state& loaded, int rank) {
  std::string wrong;
  static_cast<void>(for_each_leaf(loaded, [&](const std::string& path, const state& leaf) {
    if (const sharded_tensor* one = leaf.if_tensor()) wrong += wrong_in(*one, seed);
    if (const sharded_object* one = leaf.if_object()) {
      const auto expected = base(rank, true);
      if (const state* saved = expected.find(path);
          saved != nullptr && !(*one == *saved->if_object()))
        wrong += path + " differs; ";
    }
  }));
  return wrong;
}

std::string in_braces(const names& of) {
  std::string out = "{";
  for (const std::string& one : of) out += (out.size() == 1 ? "" : ", ") + one;
  return out + "}";
}

/// What a rank's report says of keys.
std::string said(const group_load_report& report) {
  std::string out =
      "missing " + in_braces(report.missing) + " unexpected " + in_braces(report.unexpected);
  for (const std::string& one : report.warnings) out += " warns " + one;
  return out;
}

struct load_case {
  strictness mode = strictness::assume_ok_unexpected;
  bool validate = false;
  bool once = false;
};

std::vector<load_case> all_cases() {
  std::vector<load_case> out;
  for (const strictness mode : all_modes()) {
    for (const bool validate : {false, true}) {
      for (const bool once : {false, true}) out.push_back({mode, validate, once});
    }
  }
  return out;
}

/// What all ranks say, one text if it is the same; "wrong: ..." where values are not right.
template <class F>
std::string load_and_say(const memory_store& store, const F& request, const load_case& how) {
  const auto results =
      thread_world::run(world, [&](const thread_communicator& self) -> result<std::string> {
        ZARRPOINT_TRY(report,
                      load(store, request(self.rank()), group_of(self),
                           {.strict = how.mode, .validate = how.validate, .read_once = how.once}));
        const std::string wrong = wrong_in_base(report.loaded, self.rank());
        return wrong.empty() ? said(report) : "wrong: " + wrong;
      });
  std::set<std::string> texts;
  for (const auto& one : results) texts.insert(one ? *one : to_string(one.failure()));
  std::string out;
  for (const std::string& one : texts) out += (out.empty() ? "" : " | ") + one;
  return out;
}

const std::string nothing = "missing {} unexpected {}";

}  // namespace

TEST_CASE("STR-1: what is not stored is an error, a warning, reported or ignored, never a hang") {
  const memory_store store = saved_base();
  const auto request = [](int rank) {
    state out = base(rank, false);
    out.if_map()->emplace("TenD", tensor_of("UnexpectedTenD", {3}, {.replica = rank}, false));
    out.if_map()->emplace("ObjD", object_of("UnexpectedObjD", {.replica = rank}, false));
    return out;
  };
  const std::string text = "Unexpected keys (for this rank): {'UnexpectedObjD', 'UnexpectedTenD'}.";
  for (const load_case& one : all_cases()) {
    CAPTURE(to_string(one.mode));
    CAPTURE(one.validate);
    CAPTURE(one.once);
    const std::string got = load_and_say(store, request, one);
    CAPTURE(got);
    switch (one.mode) {
      case strictness::assume_ok_unexpected:
        CHECK(got.starts_with("not_found: "));
        CHECK(got.find("\"UnexpectedTenD\"") != got.npos);
        CHECK(got.find(" | ") == got.npos);
        break;
      case strictness::raise_unexpected:
      case strictness::raise_all: CHECK(got == "not_found: ranks 0-7: " + text); break;
      case strictness::log_unexpected:
      case strictness::log_all: CHECK(got == nothing + " warns " + text); break;
      case strictness::return_unexpected:
      case strictness::return_all:
        CHECK(got == "missing {} unexpected {UnexpectedObjD, UnexpectedTenD}");
        break;
      case strictness::ignore_all: CHECK(got == nothing); break;
    }
  }
}

TEST_CASE("STR-2, STR-6: what nobody asks for is missing, in the modes that speak of it") {
  const memory_store store = saved_base();
  const auto request = [](int rank) {
    state out = base(rank, false);
    out.erase("TenA");
    out.erase("ObjB");
    return out;
  };
  const std::string text = "Missing keys (for all ranks): {'ObjB', 'TenA'}.";
  for (const load_case& one : all_cases()) {
    CAPTURE(to_string(one.mode));
    const std::string got = load_and_say(store, request, one);
    switch (one.mode) {
      case strictness::raise_all: CHECK(got == "not_found: ranks 0-7: " + text); break;
      case strictness::log_all: CHECK(got == nothing + " warns " + text); break;
      case strictness::return_all: CHECK(got == "missing {ObjB, TenA} unexpected {}"); break;
      default: CHECK(got == nothing);
    }
  }
  // What one rank asks for is missing on none.
  const auto on_one_rank = [&](int rank) { return rank == 5 ? base(rank, false) : request(rank); };
  const std::string got = load_and_say(store, on_one_rank, {strictness::return_all, false, false});
  CHECK(got == nothing);
}

TEST_CASE("STR-3, STR-5: where all is there no mode says anything; an empty map comes back") {
  const memory_store store = saved_base();
  for (const load_case& one : all_cases()) {
    CAPTURE(to_string(one.mode));
    CHECK(load_and_say(
              store, [](int rank) { return base(rank, false); }, one) == nothing);
  }
  CHECK(load_by(
            world, store, [](int rank) { return base(rank, false); },
            [](int rank, const group_load_report& report) {
              return to_string(diff(report.loaded, base(rank, true)).value());
            }) == "done");
}

TEST_CASE("STR-4: the sharded metadata are a request for all that there is") {
  const memory_store store = saved_base();
  const auto all = load_sharded_metadata(store);
  REQUIRE(all);
  names keys;
  for (const auto& [key, leaf] : *all->if_map()) {
    keys.insert(key);
    CHECK((leaf.if_tensor() != nullptr || leaf.if_object() != nullptr));
  }
  CHECK(keys == names{"TenA", "TenB", "TenC", "ObjA/shard__", "ObjB/shard_0.0_1.8",
                      "ObjB/shard_0.1_1.8", "ObjB/shard_0.2_1.8", "ObjB/shard_0.3_1.8",
                      "ObjB/shard_0.4_1.8", "ObjB/shard_0.5_1.8", "ObjB/shard_0.6_1.8",
                      "ObjB/shard_0.7_1.8"});
  CHECK(load_by(
            2, store, [&](int) { return *all; },
            [](int, const group_load_report& report) {
              std::string wrong = wrong_in_base(report.loaded, 0);
              for (int i = 0; i < world; ++i) {
                // A '/' in a key is written ~1 in a path.
                const state* one =
                    report.loaded.find("ObjB~1shard_0." + std::to_string(i) + "_1.8");
                const auto expected = base(i, true);
                if (one == nullptr || as_text(one->if_object()->bytes()) !=
                                          as_text(expected.find("ObjB")->if_object()->bytes()))
                  wrong += "object " + std::to_string(i) + "; ";
              }
              return wrong;
            },
            {.validate = false}) == "done");
}

TEST_CASE("STR-7, STR-8: what only one rank asks for in vain all ranks hear of") {
  const memory_store store = saved_base();
  const auto request = [](int rank) {
    state out = base(rank, false);
    if (rank == 3) out.if_map()->emplace("x", tensor_of("OnlyHere", {3}, {.replica = 1}, false));
    if (rank != 5) out.erase("TenC");
    return out;
  };
  for (const bool once : {false, true}) {
    for (const strictness mode :
         {strictness::assume_ok_unexpected, strictness::raise_unexpected, strictness::raise_all}) {
      const std::string got = load_and_say(store, request, {mode, false, once});
      CAPTURE(got);
      CHECK(got.starts_with("not_found: rank 3: "));
      CHECK(got.find("OnlyHere") != got.npos);
      CHECK(got.find("Missing") == got.npos);
      CHECK(got.find(" | ") == got.npos);
    }
    // It is told to the rank that asked.
    const std::string told = load_and_say(store, request, {strictness::return_all, false, once});
    CHECK(told == "missing {} unexpected {OnlyHere} | " + nothing);
    // All the others wait for nobody, and what is left out of a list leaves a hole.
    CHECK(
        load_by(
            world, store,
            [&](int rank) {
              return state{
                  {"l", state::list{base(rank, false).find("TenA")->if_tensor()->without_data(),
                                    tensor_of("none", {1}, {.replica = rank}, false), 7,
                                    base(rank, false).find("TenB")->if_tensor()->without_data()}}};
            },
            [](int, const group_load_report& report) {
              const state::list* list = report.loaded.find("l")->if_list();
              if (list == nullptr || list->size() != 4 || !(*list)[1].is_hole())
                return std::string("the list");
              return wrong_in(*(*list)[3].if_tensor(), seed) +
                     wrong_in(*(*list)[0].if_tensor(), seed);
            },
            {.strict = strictness::ignore_all, .read_once = once}) == "done");
  }
}

TEST_CASE("strictness: by its name, and no other") {
  for (const strictness mode : all_modes())
    CHECK(parse_strictness(to_string(mode)).value() == mode);
  CHECK(to_string(parse_strictness("true").failure()) ==
        "invalid_argument: Invalid strict flag: true");
}

}  // namespace match_keys_test
