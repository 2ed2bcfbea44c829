// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/distributed/load/iterations.hpp>
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/shard_values.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace iterations_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("LOC-1: checkpoints are named by their iterations") {
  CHECK(iteration_name(0) == "iter_0000000");
  CHECK(iteration_name(7) == "iter_0000007");
  CHECK(iteration_name(123456789) == "iter_123456789");
  for (const index_t one : {index_t{0}, index_t{7}, index_t{9999999}, index_t{10000000}, INT64_MAX})
    CHECK(parse_iteration_name(iteration_name(one)) == one);
  for (const char* other :
       {"", "iter_", "iter_7", "iter_00000007", "iter_000000x", "iter_0000007x", "iter_-000007",
        "iter_+000007", "iter_ 000007", "iter_9223372036854775808", "Iter_0000007", "0000007"})
    CHECK_FALSE(parse_iteration_name(other));
  CHECK(iteration_at("a/b", 12)->name() == "a/b/iter_0000012");
  CHECK(iteration_at("a", -1).failure().code == errc::invalid_argument);
}

TEST_CASE("LOC-3: saved, loaded, removed, one after the other") {
  const test::temp_directory directory;
  const memory_store store;
  const location folders[] = {location(directory / "run"),
                              location(any_store(store), store_key::parse("run").value())};
  for (const location& folder : folders) {
    CAPTURE(folder.name());
    CHECK(list_iterations(folder)->empty());
    CHECK_FALSE(remove_iteration(folder, 1).value());
    if (detail::location_access::is_path(folder)) {
      // The folder is the program's to make.
      CHECK(save(iteration_at(folder, 1).value(), state{{"x", 1}}, group_of({})).failure().code ==
            errc::not_found);
      std::filesystem::create_directory(folder.name());
    }
    const auto shard = [](int rank, int ranks) {
      return from_rank_offsets("w", {dtype_kind::float32, {12 / ranks}},
                               {.offsets = {{0, rank, ranks}}})
          .value();
    };
    const auto save_iteration = [&](index_t iteration) {
      const auto state_of = [&](int rank) {
        return state{{"iteration", iteration},
                     {"w", with_values(shard(rank, 4), static_cast<std::uint64_t>(iteration))}};
      };
      group_save_options once;
      once.storage.overwrite = false;
      return save_by(4, iteration_at(folder, iteration).value(), state_of, once);
    };
    const auto load_latest = [&]() -> index_t {
      const auto there = list_iterations(folder).value();
      if (there.empty()) return 0;
      const index_t last = there.back();
      CHECK(load_by(
                3, iteration_at(folder, last).value(),
                [&](int rank) {
                  return state{{"w", sharded_tensor(shard(rank, 3))}};
                },
                [&](int, const group_load_report& report) {
                  CHECK(report.loaded.get<index_t>("iteration").value() == last);
                  return wrong_in(*report.loaded.find("w")->if_tensor(),
                                  static_cast<std::uint64_t>(last));
                }) == "done");
      return last;
    };
    CHECK(load_latest() == 0);
    CHECK(save_iteration(1) == "done");
    CHECK(load_latest() == 1);
    CHECK(remove_iteration(folder, 1).value());
    CHECK(load_latest() == 0);
    CHECK_FALSE(remove_iteration(folder, 1).value());
    // A later one, and the one before it goes; what is of others stays.
    CHECK(save_iteration(2) == "done");
    CHECK(save_iteration(10) == "done");
    CHECK(save_iteration(9) == "done");
    CHECK(list_iterations(folder).value() == std::vector<index_t>{2, 9, 10});
    CHECK(load_latest() == 10);
    for (const index_t old : {2, 9}) CHECK(remove_iteration(folder, old).value());
    CHECK(list_iterations(folder).value() == std::vector<index_t>{10});
    CHECK(load_latest() == 10);
    // An existing checkpoint is replaced only if the caller says so.
    CHECK(save_iteration(10).starts_with("already_exists"));
  }
  std::filesystem::create_directory(directory / "run/notes");
  test::write_file(directory / "run/iter_0000011", "a file");
  CHECK(list_iterations(directory / "run").value() == std::vector<index_t>{10});
}

}  // namespace iterations_test
