// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/distributed/save/group_save_target.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace group_save_target_test {

using namespace zarrpoint;

TEST_CASE("group_save_target: what is there, and which of it is the checkpoint") {
  const any_strategy saver =
      group_save_options{}
          .sharded.resolve(strategy_action::save_sharded, process_group{}.known)
          .value();
  const context how;
  const detail::group_save_target target{saver, how};
  const auto check = [&](const memory_store& store, bool overwrite) {
    const auto checked =
        target.check({store, store_key::root()}, location(store), {.overwrite = overwrite});
    return checked ? "free" : to_string(checked.failure());
  };
  const memory_store store;
  CHECK_FALSE(target.holds_checkpoint(store).value());
  CHECK_FALSE(target.holds_something(store).value());
  CHECK(check(store, false) == "free");
  save(store, {{"w", std::vector<int>{1}}}).value();
  store.put(store_key::parse("notes.txt").value(), as_bytes("mine")).value();
  CHECK(target.holds_checkpoint(store).value());
  CHECK(target.holds_something(store).value());
  CHECK(check(store, true) == "free");
  CHECK(check(store, false).find("save_options::overwrite is false") != std::string::npos);
  const auto paths = target.paths_of(store).value();
  REQUIRE(paths);
  CHECK(std::count(paths->begin(), paths->end(), "w") == 1);
  CHECK(std::count(paths->begin(), paths->end(), "zarr.json") == 1);
  CHECK(std::count(paths->begin(), paths->end(), "notes.txt") == 0);
  CHECK(target.removed_all("").find("strategy " + to_string(saver) + " does not say") !=
        std::string::npos);
  CHECK(target.removed_all("a reason").ends_with(": a reason"));
  const memory_store other;
  other.put(store_key::parse("notes.txt").value(), as_bytes("mine")).value();
  CHECK(target.holds_something(other).value());
  CHECK(check(other, true).find("is not empty and is not a checkpoint") != std::string::npos);
}

}  // namespace group_save_target_test
