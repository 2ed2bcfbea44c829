// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/delta.hpp>
#include <zarrpoint/manager.hpp>
#include <zarrpoint/orbax.hpp>
#include <zarrpoint/stores.hpp>
#include <zarrpoint/verify.hpp>

#include "support/executors.hpp"
#include "support/hierarchy_cases.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace delta_steps_test {

using namespace zarrpoint;
namespace fs = std::filesystem;
using list = std::vector<std::int64_t>;
using words = std::vector<std::uint16_t>;

/// Every fifth step is whole.
manager_options every_fifth(keep_policy keep = keep_policy::all()) {
  return {.keep = std::move(keep), .whole_when = save_policy::every_steps(5)};
}

checkpoint_manager open_at(const location& where, manager_options options = every_fifth()) {
  return checkpoint_manager::open(where, std::move(options)).value();
}

words words_of(std::int64_t step) {
  words out(100'000);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::uint16_t>(i * 2654435761U >> 8);
  for (std::size_t i = static_cast<std::size_t>(step); i < out.size(); i += 1000)
    out[i] = static_cast<std::uint16_t>(step);
  return out;
}

void save(checkpoint_manager& by, std::int64_t step, std::vector<step_metric> metrics = {}) {
  const words w = words_of(step);
  by.save(step, {{"w", w}, {"same", words_of(0)}, {"step", step}}, std::move(metrics)).value();
  by.wait().value();
}

bool has_step(const result<restored_step>& of, std::int64_t step) {
  return of && of->step == step && of->data.load<words>("w").value() == words_of(step) &&
         of->data.load<std::int64_t>("step").value() == step &&
         verify(of->data).value().result() == verdict::ok;
}

std::optional<std::int64_t> base_of(const checkpoint_manager& in, std::int64_t step) {
  for (const step_record& one : in.records())
    if (one.step == step) return one.base;
  return -1;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& one : lines) out += one + '\n';
  return out;
}

void flip(const std::string& file, std::streamoff at) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(at);
  const int byte = stream.get();
  stream.seekp(at);
  stream.put(static_cast<char>(byte ^ 1));
  REQUIRE(stream.good());
}

TEST_CASE("manager: some steps are whole, and the others deltas on the last of them") {
  const test::temp_directory folder;
  zarrpoint::memory_store memory;
  for (const location& where : {location(folder / "run"), location(memory)}) {
    CAPTURE(where.name());
    manager_options options = every_fifth();
    options.verify = true;
    {
      auto manager = open_at(where, options);
      for (std::int64_t step = 3; step <= 12; ++step)
        save(manager, step, {{"loss", step == 7 ? 0.1 : 0.5}});
      manager.close().value();
      CHECK(joined(manager.warnings()) == "");
    }
    auto again = open_at(where, options);
    for (std::int64_t step = 3; step <= 12; ++step) {
      CAPTURE(step);
      CHECK(has_step(again.restore(step), step));
      const std::optional<std::int64_t> base = step % 5 == 0 || step == 3 ? std::nullopt
                                               : step == 4 ? std::optional<std::int64_t>(3)
                                                           : std::optional(step / 5 * 5);
      CHECK(base_of(again, step) == base);
      const step_record record = again.records()[static_cast<std::size_t>(step - 3)];
      CHECK(record.bytes > 0);
      if (base) CHECK(record.bytes < 5000);
    }
    CHECK(again.latest().value() == 12);
    CHECK(again.best("loss", better::lower).value() == 7);
    CHECK(has_step(again.restore_best("loss", better::lower), 7));
    // Parts, too.
    words part(10);
    again.restore(12).value().data.load_into("w", box({12'000}, {10}), part).value();
    const words all = words_of(12);
    CHECK(part == words(all.begin() + 12'000, all.begin() + 12'010));
    // The run goes on as if it had not been interrupted.
    save(again, 13);
    CHECK(base_of(again, 13) == 10);
    save(again, 16);
    CHECK(base_of(again, 16) == std::nullopt);
  }
}

TEST_CASE("manager: a whole step stays as long as a delta that is kept stands on it") {
  const test::temp_directory folder;
  const std::string run = folder / "run";
  auto manager = open_at(run, every_fifth(keep_policy::newest(2)));
  for (std::int64_t step = 5; step <= 9; ++step) save(manager, step);
  CHECK(manager.steps() == list{5, 8, 9});
  const auto shown = manager.dry_run();
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].step == 5);
  CHECK(shown[0].stays);
  CHECK(shown[0].why == "2 steps stand on it as deltas, the newest is 9");
  CHECK(manager.prune().value().empty());
  const auto refused = manager.remove(5, true);
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::invalid_argument);
  CHECK(refused.failure().message.find("stand on it") != std::string::npos);
  save(manager, 10);
  CHECK(manager.steps() == list{5, 9, 10});
  CHECK(manager.dry_run()[0].why == "step 9 stands on it as a delta");
  manager.pin(9).value();
  save(manager, 11);
  CHECK(manager.steps() == list{5, 9, 10, 11});
  manager.pin(9, false).value();
  // Both go at once, the delta first.
  const auto gone = manager.prune().value();
  REQUIRE(gone.size() == 2);
  CHECK(gone[0].step == 9);
  CHECK(gone[1].step == 5);
  manager.remove(11, true).value();
  manager.remove(10, true).value();
  CHECK(manager.steps().empty());
}

TEST_CASE("manager: a step whose base is damaged is passed over, and the next one is whole") {
  for (const int how : {0, 1, 2, 3}) {
    CAPTURE(how);
    const test::temp_directory folder;
    const std::string run = folder / "run", base = run + "/step_00000005";
    {
      auto manager = open_at(run);
      for (const std::int64_t step : {3, 5, 6, 7}) save(manager, step);
      manager.close().value();
    }
    if (how == 0) fs::remove_all(base);
    if (how == 1) fs::resize_file(base + "/same/c.0", 100);
    if (how == 2) test::write_file(base + "/zarr.json", "{");
    if (how == 3) flip(base + "/same/c.0", 1000);
    auto manager = open_at(run);
    if (how == 3) {  // what only a look at every byte tells
      CHECK(manager.latest().value() == 7);
      CHECK_FALSE(has_step(manager.restore(6), 6));
      save(manager, 8);
      CHECK(joined(manager.warnings()).find("step 8 is saved whole") != std::string::npos);
      CHECK(base_of(manager, 8) == std::nullopt);
      CHECK(has_step(manager.restore_latest(), 8));
      save(manager, 9);
      CHECK(base_of(manager, 9) == 8);
      continue;
    }
    CHECK(manager.latest().value() == 3);
    const std::string told = joined(manager.warnings());
    CHECK_MESSAGE(told.find("step 7 was passed over") != std::string::npos, told);
    CHECK_MESSAGE(told.find("base") != std::string::npos, told);
    save(manager, 8);  // not on that one
    CHECK(base_of(manager, 8) == std::nullopt);
    CHECK(has_step(manager.restore_latest(), 8));
    CHECK(manager.prune(keep_policy::newest(0)).value().size() == 1);  // the damaged ones stay
    CHECK(manager.steps() == list{8});
  }
}

TEST_CASE("manager: what stands on a step that is saved again is made whole before") {
  const test::temp_directory folder;
  const std::string run = folder / "run";
  auto manager = open_at(run);
  for (const std::int64_t step : {3, 5, 6, 7}) save(manager, step, {{"loss", 0.5}});
  // The run went back to step 3, and comes to 5 again.
  const words other(100'000, 9);
  manager.save(5, {{"w", other}}).value();
  manager.wait().value();
  CHECK(manager.restore(5).value().data.load<words>("w").value() == other);
  for (const std::int64_t step : {6, 7}) {
    CHECK(base_of(manager, step) == std::nullopt);
    CHECK(has_step(manager.restore(step), step));
  }
  manager.close().value();
  auto again = open_at(run);
  CHECK(again.steps() == list{3, 5, 6, 7});
  CHECK(has_step(again.restore(7), 7));
  CHECK(again.records()[3].metrics == std::vector<step_metric>{{"loss", 0.5}});
  CHECK(again.records()[3].is_managed);
  CHECK(base_of(again, 6) == std::nullopt);
  save(again, 6);  // a delta over a whole one
  CHECK(base_of(again, 6) == 5);
  CHECK(has_step(again.restore(6), 6));
  save(again, 6);  // a delta over a delta
  CHECK(base_of(again, 6) == 5);
  CHECK(has_step(again.restore(6), 6));
}

TEST_CASE("manager: no policy removes what a delta that is being saved stands on") {
  memory_store place;
  const testing::manual_executor held;  // nothing runs before somebody waits
  manager_options options = every_fifth();
  options.most_under_way = 2;
  options.how.executor = held;
  auto manager = open_at(location(place), options);
  for (const std::int64_t step : {5, 10}) save(manager, step);
  manager.remove(10, true).value();
  save(manager, 6);
  const words w = words_of(7);
  manager.save(7, {{"w", w}, {"step", std::int64_t{7}}}).value();
  manager.remove(6, true).value();
  CHECK(manager.remove(5, true).failure().message.find("is being saved") != std::string::npos);
  CHECK(manager.prune(keep_policy::newest(0)).value().empty());
  manager.save(5, {{"w", words(100'000, 1)}}).value();  // which waits for 7, and makes it whole
  manager.wait().value();
  CHECK(has_step(manager.restore(7), 7));
  CHECK(base_of(manager, 7) == std::nullopt);
}

/// A store that does not give one document for as long as it is told.
struct silent_store : memory_store {
  result<std::unique_ptr<blob>> open(const store_key& key) const {
    if (*is_silent && key.str() == "step_00000006/zarr.json")
      return error{errc::io, "the disk does not answer"};
    return memory_store::open(key);
  }
  std::shared_ptr<bool> is_silent = std::make_shared<bool>(false);
};

TEST_CASE("manager: what may stand on a step, and cannot be looked at, keeps it") {
  const silent_store place;
  {
    auto manager = open_at(location(any_store(place)));
    for (const std::int64_t step : {5, 6, 10}) save(manager, step);
    manager.close().value();
  }
  *place.is_silent = true;
  auto manager = open_at(location(any_store(place)), every_fifth(keep_policy::newest(1)));
  CHECK(manager.steps() == list{5, 10});
  CHECK(manager.prune().value().empty());
  const auto shown = manager.dry_run();
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].stays);
  CHECK(shown[0].why == "step 6 cannot be looked at, and may stand on it");
  CHECK(manager.remove(5, true).failure().code == errc::invalid_argument);
  const words w = words_of(1);
  CHECK(manager.save(5, {{"w", w}}).failure().code == errc::unavailable);
  *place.is_silent = false;
  manager.refresh().value();
  CHECK(has_step(manager.restore(6), 6));
  CHECK(manager.prune().value().size() == 2);
}

TEST_CASE("manager: a base of another kind is done without") {
  const test::temp_directory folder;
  const std::string run = folder / "run";
  {
    auto manager = open_at(run, {.storage = {.zarr_format = 2}});
    save(manager, 1);
    manager.save_items(2, {{.name = "m", .leaves = {{"w", words_of(2)}}}}).value();
    manager.close().value();
  }
  auto manager = open_at(run);
  for (const std::int64_t step : {3, 4}) {
    save(manager, step);
    CHECK(has_step(manager.restore(step), step));
  }
  CHECK(base_of(manager, 3) == std::nullopt);
  CHECK(base_of(manager, 4) == 3);
  manager.save_items(6, {{.name = "m", .leaves = {{"w", words_of(6)}}}}).value();
  manager.wait().value();
  CHECK(manager.latest().value() == 6);
}

TEST_CASE("manager: deltas are refused where they cannot be saved") {
  manager_options options = every_fifth();
  options.storage.zarr_format = 2;
  CHECK(checkpoint_manager::open(memory_store(), options).failure().code == errc::unsupported);
  options = every_fifth();
  options.storage.format = orbax::format{};
  CHECK(checkpoint_manager::open(memory_store(), options).failure().code == errc::unsupported);
  const any_store plain{zarrpoint_test::plain_store()};
  CHECK(checkpoint_manager::open(location(plain), every_fifth()).failure().code ==
        errc::unsupported);
}

}  // namespace delta_steps_test
