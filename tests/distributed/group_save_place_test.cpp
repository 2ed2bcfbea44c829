// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/save/group_save_place.hpp>
#include <zarrpoint/distributed/save/strategy_format.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace group_save_place_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> no_paths() { return std::vector<std::string>(); }

/// Rank 0 of two processes that share a store of memory, in which there is no tree but the one.
struct first_of_two {
  int rank() const { return 0; }
  int size() const { return 2; }
  result<std::vector<message>> exchange(std::vector<message> sent) const { return sent; }
};

/// What a place borrows.
struct parts {
  location where;
  publish_options how;
  detail::save_group group{};
  any_strategy saver = group_save_options{}
                           .sharded.resolve(strategy_action::save_sharded, process_group{}.known)
                           .value();
  detail::strategy_rules rules{saver, group.how};
  save_summary report{};
  detail::commit_outcome commit{group.ranks};

  detail::group_save_place place() const { return {where, group, how, rules}; }
};

void put(const any_store& store, std::string_view name) {
  store.put(store_key::parse(name).value(), as_bytes("new")).value();
}

bool has(const any_store& store, std::string_view name) {
  return store.open(store_key::parse(name).value()).value() != nullptr;
}

}  // namespace

TEST_CASE("group_save_place: a directory takes its place when it is published, and keeps notes") {
  const test::temp_directory folder;
  parts of{folder / "c", {.overwrite = true}};
  save(folder / "c", {{"w", std::vector<int>{1}}}).value();
  test::write_file(folder / "c/notes.txt", "mine");
  test::write_file(folder / "c/v", "in the way");
  detail::group_save_place place = of.place();
  place.open().value();
  place.clear(of.report).value();
  put(place.store(), "zarr.json");
  put(place.store(), "v/zarr.json");
  CHECK_FALSE(place.staged_name().empty());
  CHECK(fs::exists(folder / "c/w"));
  detail::group_save_place joined = of.place();
  joined.join(place.staged_name()).value();
  put(joined.store(), "from_another");
  place.publish([] { return std::vector<std::string>{"v"}; }, of.commit, of.report).value();
  CHECK(fs::exists(folder / "c/from_another"));
  CHECK(fs::exists(folder / "c/v/zarr.json"));
  CHECK_FALSE(fs::exists(folder / "c/w"));
  CHECK(test::read_file(folder / "c/notes.txt") == "mine");
  CHECK(of.report.kept == std::vector<std::string>{"notes.txt"});
}

TEST_CASE("group_save_place: a store that cannot publish is cleared, and written in its place") {
  const memory_store store;
  save(store, {{"w", std::vector<int>{1}}}).value();
  put(store, "notes.txt");
  parts of{store, {.overwrite = true}, {.ranks = first_of_two{}}};
  detail::group_save_place place = of.place();
  place.open().value();
  CHECK(place.staged_name().empty());
  CHECK(has(store, "w/zarr.json"));
  place.clear(of.report).value();
  CHECK_FALSE(has(store, "w/zarr.json"));
  CHECK(of.report.kept == std::vector<std::string>{"notes.txt"});
  detail::group_save_place joined = of.place();
  joined.join("").value();
  put(joined.store(), "zarr.json");
  place.publish(no_paths, of.commit, of.report).value();
  CHECK(has(store, "zarr.json"));
  CHECK(of.report.warnings.empty());
}

TEST_CASE("group_save_place: what must not be replaced is refused before it is touched") {
  const memory_store store;
  save(store, {{"w", std::vector<int>{1}}}).value();
  parts of{store, {.overwrite = false}, {.ranks = first_of_two{}}};
  const auto refused = of.place().open();
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::already_exists);
  CHECK(has(store, "w/zarr.json"));
}

TEST_CASE("group_save_place: what is not foreign is erased, and the rest is named") {
  const memory_store store;
  for (const char* name : {"a", "b/1", "b/2", "own/x", "notes/x"}) put(store, name);
  CHECK(detail::erase_own(store, {{"a", "b/1", "own"}, {}}).value() ==
        std::vector<std::string>{"b/2", "notes/"});
  CHECK(store.list(store_key::root()).value().size() == 2);
}

}  // namespace group_save_place_test
