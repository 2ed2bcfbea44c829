// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/prefix_store.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace places_test {

using namespace zarrpoint;

/// Each process brings a quarter, third ... of "w", whose elements count from `first`.
result<void> save_parts(const location& where, const any_communicator& ranks, float first) {
  const std::vector<float> w(2, first + static_cast<float>(ranks.rank()));
  ZARRPOINT_TRY(part, shard("w", w, {.offsets = {{0, ranks.rank(), ranks.size()}}}));
  return save(where, state{{"w", part}, {"first", first}}, {.ranks = ranks})
      .transform([](const auto&) {});
}

void check_parts(const location& where, std::size_t ranks, float first) {
  const auto loaded = load_plain_tensors(where);
  REQUIRE_MESSAGE(loaded, to_string(loaded.failure()));
  const tensor& w = loaded->at("w");
  REQUIRE(w.size() == 2 * ranks);
  for (std::size_t i = 0; i < w.size(); ++i)
    CHECK(w.data<float>()[i] == first + static_cast<float>(i / 2));
  CHECK(load_common_state(where).value().get<float>("first").value() == first);
}

TEST_CASE("VAL-1: two groups at a time do not know of each other") {
  const test::temp_directory dir;
  const auto save_group = [&](int ranks, const char* name, float first) {
    return thread_world::run(ranks, [&, name, first](const thread_communicator& c) {
      return save_parts(dir / name, c, first);
    });
  };
  std::vector<result<void>> other;
  std::thread beside([&] { other = save_group(3, "three", 30); });
  const auto mine = save_group(2, "two", 20);
  beside.join();
  for (const auto& status : mine) REQUIRE_MESSAGE(status, to_string(status.failure()));
  for (const auto& status : other) REQUIRE_MESSAGE(status, to_string(status.failure()));
  check_parts(dir / "two", 2, 20);
  check_parts(dir / "three", 3, 30);
}

TEST_CASE("MSC-1: processes that are threads share any store that is written in place") {
  const memory_store store;
  const store_key key = *store_key::parse("runs/7");
  const auto save_all = [&](float first) {
    for (const auto& status : thread_world::run(4, [&](const thread_communicator& c) {
           return save_parts(location(store, key), c, first);
         }))
      REQUIRE_MESSAGE(status, to_string(status.failure()));
  };
  save_all(1);
  check_parts(location(store, key), 4, 1);
  save_all(5);
  check_parts(location(prefix_store(store, key)), 4, 5);
}

TEST_CASE("MSC-1: a zip file has one writer") {
  const test::temp_directory dir;
  const std::string path = dir / "m.zip";
  for (const auto& status :
       thread_world::run(2, [&](const thread_communicator& c) { return save_parts(path, c, 1); })) {
    REQUIRE_FALSE(status);
    CHECK(status.failure().code == errc::unsupported);
    CHECK(status.failure().message.find("several processes can save to a directory only") !=
          std::string::npos);
  }
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(save_parts(path, single_process(), 1));
  check_parts(path, 1, 1);
}

TEST_CASE("FP-13: of a view only what it shows is stored") {
  const test::temp_directory dir;
  const std::vector<double> large(1'000'000, 1.5);
  const tensor_view<host_space> view{reinterpret_cast<const std::byte*>(large.data()),
                                     dtype_kind::float64,
                                     {10},
                                     {8 * 1000},
                                     {},
                                     {}};
  const auto part = shard("view", view).value();
  REQUIRE(save(dir / "m", state{{"v", part}}, process_group{}));
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir / "m")) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  CHECK(bytes < 10'000);
  const auto loaded = load_plain_tensors(dir / "m").value();
  CHECK(loaded.at("view").shape() == dims{10});
  for (const double value : loaded.at("view").data<double>()) CHECK(value == 1.5);
}

}  // namespace places_test
