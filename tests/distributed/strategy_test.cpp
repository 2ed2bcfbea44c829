// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/strategy/strategy.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace strategy_test {

using namespace zarrpoint;

template <int Version>
struct common_of {
  static constexpr std::string_view name = "save_nothing";
  static constexpr std::string_view backend = "none";
  static constexpr int version = Version;
  static constexpr strategy_action action = strategy_action::save_common;
  result<std::vector<leaf_record>> save_common(const save_job&, const json&) const {
    std::vector<leaf_record> out(1);
    out[0].name = "version " + std::to_string(Version);
    return out;
  }
};
struct other_common : common_of<1> {
  static constexpr std::string_view name = "save_elsewhere";
};
struct loads {
  static constexpr std::string_view name = "load_nothing";
  static constexpr std::string_view backend = "none";
  static constexpr int version = 1;
  static constexpr strategy_action action = strategy_action::load_common;
  result<json> load_common(const load_job&) const { return json(7); }
};
static_assert(common_saver<common_of<1>> && !common_loader<common_of<1>>);
static_assert(common_loader<loads> && !sharded_loader<loads>);

TEST_CASE("strategies print as name(backend, version), actions as they are called") {
  CHECK(to_string(any_strategy(common_of<2>{})) == "save_nothing(none, 2)");
  CHECK(to_string(any_strategy()) == "none");
  CHECK(to_string(strategy_action::load_common) == "load_common");
  CHECK(to_string(strategy_action::load_sharded) == "load_sharded");
  CHECK(to_string(strategy_action::save_common) == "save_common");
  CHECK(to_string(strategy_action::save_sharded) == "save_sharded");
}

TEST_CASE("strategies are found by action, backend and version, and versions are enforced") {
  const strategy_table table = strategies<common_of<1>, common_of<3>, loads>::table();
  const auto found = table.find(strategy_action::save_common, {"none", 3}).value();
  CHECK(found.id() == strategy_id{"none", 3});
  REQUIRE(found.common_saver() != nullptr);
  CHECK(found.common_loader() == nullptr);
  CHECK(found.sharded_saver() == nullptr);
  CHECK(
      found.common_saver()->save_common({.store = any_store(memory_store())}, {}).value()[0].name ==
      "version 3");
  CHECK(table.find(strategy_action::load_common, {"none", 1}).value().common_loader() != nullptr);

  const auto version = table.find(strategy_action::save_common, {"none", 2});
  REQUIRE_FALSE(version);
  CHECK(version.failure().code == errc::unsupported);
  CHECK(version.failure().message ==
        "no strategy to save_common for (none, 2), which is another version of a known backend; "
        "this program has (none, 1), (none, 3)");
  CHECK(table.find(strategy_action::save_common, {"zip", 1}).failure().message ==
        "no strategy to save_common for (zip, 1); this program has (none, 1), (none, 3)");
  CHECK(table.find(strategy_action::load_sharded, {"none", 1}).failure().message ==
        "no strategy to load_sharded for (none, 1); this program has none");
}

TEST_CASE("a program's own strategies stand beside others, or in their place") {
  using with_one = strategies<common_of<1>, loads>::with<common_of<2>, other_common>;
  const strategy_table table = with_one::table();
  CHECK(table.entries().size() == 3);
  CHECK(table.find(strategy_action::save_common, {"none", 1}).value().name() == "save_elsewhere");
  CHECK(table.find(strategy_action::save_common, {"none", 2}));
}

}  // namespace strategy_test
