// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/strategy/process_group.hpp>

#include <doctest/doctest.h>

#include <string>

namespace process_group_test {

using namespace zarrpoint;

TEST_CASE("a process group is by default this process alone, with our strategies") {
  const process_group group;
  CHECK(group.ranks.rank() == 0);
  CHECK(group.ranks.size() == 1);
  CHECK(group.known.find(strategy_action::save_sharded, {"zarr", 3}));
  const group_save_options to_save;
  CHECK(to_save.validate);
  CHECK_FALSE(to_save.fully_parallel);
  CHECK(to_save.content_metadata.is_null());
  const group_load_options to_load;
  CHECK(to_load.strict == strictness::assume_ok_unexpected);
  CHECK(to_load.validate);
}

TEST_CASE("a strategy is chosen by its backend and version, or given") {
  const strategy_table known = default_strategies::table();
  const strategy_choice by_name("zarr", 3);
  const strategy_choice by_id(strategy_id{"zarr", 3});
  const strategy_choice given{zarr_saver{}};
  const strategy_choice erased{any_strategy(zarr_saver{})};
  for (const strategy_choice& one : {by_name, by_id, given, erased})
    CHECK(to_string(one.resolve(strategy_action::save_sharded, known).value()) ==
          "zarr_saver(zarr, 3)");
  CHECK(to_string(by_name.resolve(strategy_action::load_sharded, known).value()) ==
        "zarr_loader(zarr, 3)");
  const auto other = given.resolve(strategy_action::load_sharded, known);
  REQUIRE_FALSE(other);
  CHECK(to_string(other.failure()) ==
        "invalid_argument: strategy zarr_saver(zarr, 3) cannot load_sharded");
  const auto unknown = strategy_choice("zarr", 9).resolve(strategy_action::save_sharded, known);
  REQUIRE_FALSE(unknown);
  CHECK(unknown.failure().code == errc::unsupported);
  CHECK_FALSE(strategy_choice(any_strategy()).resolve(strategy_action::save_sharded, known));
}

}  // namespace process_group_test
