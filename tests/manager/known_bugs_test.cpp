// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The classes of bugs that managers of others have had, as their issues tell: a test for each.

#include <zarrpoint/distributed.hpp>
#include <zarrpoint/group_manager.hpp>
#include <zarrpoint/manager.hpp>
#include <zarrpoint/stores.hpp>

#include "support/hierarchy_cases.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace known_bugs_test {

using namespace zarrpoint;
namespace fs = std::filesystem;
using list = std::vector<std::int64_t>;
using metrics = std::vector<step_metric>;

checkpoint_manager open_at(const location& where, manager_options options = {}) {
  return checkpoint_manager::open(where, std::move(options)).value();
}

result<void> save_step(checkpoint_manager& by, std::int64_t step, metrics with = {}) {
  const std::vector<float> w(2000, static_cast<float>(step));
  ZARRPOINT_CHECK(by.save(step, {{"w", w}}, std::move(with)));
  return by.wait();
}

bool has_step(const result<restored_step>& of, std::int64_t step) {
  return of && of->step == step &&
         of->data.load<std::vector<float>>("w").value() ==
             std::vector<float>(2000, static_cast<float>(step));
}

const keep_policy two_and_best =
    keep_policy::newest(2) | keep_policy::best(1, "loss", better::lower);

// transformers#11748, #11769, #27138, #19300
TEST_CASE("known bugs: the newest goes in place of the oldest, as names are sorted as text") {
  const test::temp_directory folder;
  for (const std::size_t digits : {std::size_t{0}, std::size_t{8}}) {
    const std::string run = folder / std::to_string(digits);
    auto manager = open_at(run, {.keep = keep_policy::newest(2), .digits = digits});
    for (const std::int64_t step : {9, 99, 999, 9999, 10000}) save_step(manager, step).value();
    CHECK(manager.steps() == list{9999, 10000});
    CHECK(has_step(manager.restore_latest(), 10000));
  }
}

// transformers#48315
TEST_CASE("known bugs: the best is a path of another machine") {
  const test::temp_directory folder;
  {
    auto manager = open_at(folder / "run", {.keep = two_and_best});
    for (std::int64_t step = 1; step <= 4; ++step)
      save_step(manager, step, {{"loss", step == 1 ? 0.1 : 0.5}}).value();
  }
  fs::copy(folder / "run", folder / "elsewhere", fs::copy_options::recursive);
  fs::remove_all(folder / "run");
  auto manager = open_at(folder / "elsewhere", {.keep = two_and_best});
  CHECK(has_step(manager.restore_best("loss", better::lower), 1));
  // The best may be gone, too: the next best is.
  fs::remove_all(folder / "elsewhere/step_00000001");
  CHECK(has_step(manager.restore_best("loss", better::lower), 4));
  manager.close().value();
}

// pytorch-lightning#19844
TEST_CASE("known bugs: the first k are kept, and not the best k") {
  const test::temp_directory folder;
  for (const better is : {better::lower, better::higher}) {
    auto manager = open_at(folder / (is == better::lower ? "low" : "high"),
                           {.keep = keep_policy::best(2, "x", is)});
    for (std::int64_t step = 1; step <= 6; ++step)
      save_step(manager, step, {{"x", static_cast<double>(step)}}).value();
    // Beside them the newest stays.
    CHECK(manager.steps() == (is == better::lower ? list{1, 2, 6} : list{5, 6}));
  }
}

/// A store in whose writes fail beneath one name, as on one of many disks.
struct partly_full_store : zarrpoint_test::plain_store {
  bool refuses(const store_key& key) const {
    return !name->empty() && key.str().find(*name) != std::string_view::npos;
  }
  error full(const store_key& key) const {
    return {errc::io, "write " + describe(key) + ": No space left on device"};
  }
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const {
    if (refuses(key)) return full(key);
    return plain_store::create(key);
  }
  result<void> put(const store_key& key, bytes_view bytes) const {
    if (refuses(key)) return full(key);
    return plain_store::put(key, bytes);
  }
  std::shared_ptr<std::string> name = std::make_shared<std::string>();
};

// pytorch-lightning#1150, #5173
TEST_CASE("known bugs: the old one goes before the new one is safe") {
  partly_full_store place;
  auto manager = open_at(location(any_store(place)), {.keep = keep_policy::newest(1)});
  save_step(manager, 1).value();
  *place.name = "step_";
  CHECK_FALSE(save_step(manager, 2));
  CHECK(has_step(manager.restore_latest(), 1));
  *place.name = "";
  save_step(manager, 2).value();
  CHECK(manager.steps() == list{2});
}

// pytorch-lightning#18687, #10995, #11451
TEST_CASE("known bugs: after a restart the best are forgotten, and files pile up") {
  const test::temp_directory folder;
  for (std::int64_t step = 1; step <= 8; ++step) {
    auto manager = open_at(folder / "run", {.keep = two_and_best});
    save_step(manager, step, {{"loss", step == 3 ? 0.1 : 1.0}}).value();
    manager.close().value();
  }
  CHECK(open_at(folder / "run").steps() == list{3, 7, 8});
  CHECK(test::names_in(folder / "run").size() == 4);
}

// transformers#35782, fms-hf-tuning#432, flax#1200
TEST_CASE("known bugs: a directory that is not complete is taken for the newest") {
  const test::temp_directory folder;
  auto manager = open_at(folder / "run");
  for (std::int64_t step = 1; step <= 3; ++step) save_step(manager, step).value();
  fs::remove(folder / "run/step_00000003/w/c.0");
  fs::create_directories(folder / "run/step_00000004/w");
  manager.refresh().value();
  CHECK(has_step(manager.restore_latest(), 2));
  CHECK(manager.warnings().size() == 2);
}

// orbax#394
TEST_CASE("known bugs: what was copied to another place is deleted as temporary") {
  const test::temp_directory folder;
  {
    auto manager = open_at(folder / "run");
    for (std::int64_t step = 1; step <= 3; ++step) save_step(manager, step).value();
  }
  fs::create_directory(folder / "copy");
  for (const char* name : {"step_00000001", "step_00000003"})  // without the notes beside them
    fs::copy(folder / ("run/" + std::string(name)), folder / ("copy/" + std::string(name)),
             fs::copy_options::recursive);
  for (int start = 0; start < 2; ++start) {
    auto manager = open_at(folder / "copy");
    CHECK(manager.steps() == list{1, 3});
    CHECK(has_step(manager.restore_latest(), 3));
    CHECK(manager.warnings().empty());
  }
}

// keras#23609, VeOmni#1162, orbax#605, ClassyVision#528
TEST_CASE("known bugs: a failure in the background is discarded") {
  const test::temp_directory folder;
  auto manager = open_at(folder / "run");
  const auto begun = manager.save(1, {leaf::refused("w", {errc::io, "the disk is full"})});
  const auto told = begun ? manager.wait() : result<void>(begun.failure());
  REQUIRE_FALSE(told);
  CHECK(to_string(told.failure()).find("the disk is full") != std::string::npos);
  // One of which nobody heard is that of the end.
  partly_full_store place;
  auto other = open_at(location(any_store(place)));
  *place.name = "/w/c";
  static_cast<void>(other.save(1, {{"w", std::vector<float>(2000)}}));
  CHECK(other.close().failure().code == errc::io);
}

// NeMo Automodel#3390, #3261
TEST_CASE("known bugs: a file that names the newest one fails, while its data are whole") {
  const test::temp_directory folder;
  {
    auto manager = open_at(folder / "run");
    for (std::int64_t step = 1; step <= 2; ++step) save_step(manager, step).value();
  }
  // There is no such file: what is beside the steps may go.
  fs::remove_all(folder / "run/.zarrpoint_manager");
  auto manager = open_at(folder / "run");
  CHECK(has_step(manager.restore_latest(), 2));
  manager.close().value();
  // What cannot write there still reads.
  const auto looker = checkpoint_manager::open(
      file_store::open(folder / "run", {.read_only = true}).value(), {.exclusive = false});
  CHECK(looker.value().steps() == list{1, 2});
}

// awsome-distributed-ai#1225
TEST_CASE("known bugs: one disk of many is full") {
  partly_full_store place;
  auto manager = open_at(location(any_store(place)), {.keep = keep_policy::newest(1)});
  save_step(manager, 1).value();
  *place.name = "step_00000002/w/";
  const auto failed = save_step(manager, 2);
  REQUIRE_FALSE(failed);
  CHECK(to_string(failed.failure()).find("step_00000002/w/") != std::string::npos);
  CHECK(has_step(manager.restore_latest(), 1));
  save_step(manager, 3).value();
  CHECK(manager.steps() == list{3});
}

// orbax#3406
TEST_CASE("known bugs: without a service that tells of preemption, a save fails") {
  const test::temp_directory folder;
  auto manager = open_at(folder / "run", {.save_when = save_policy::never()});
  CHECK_FALSE(manager.save_requested());
  CHECK_FALSE(manager.should_save(1));
  save_step(manager, 1).value();
  manager.request_save();  // all that it takes: no service, no thread, no signal
  CHECK(manager.should_save(2));
  save_step(manager, 2).value();
  CHECK_FALSE(manager.should_save(3));
}

// Megatron-LM#1530
TEST_CASE("known bugs: only the first process has the metadata") {
  constexpr int ranks = 3;
  const test::temp_directory folder;
  const auto done = thread_world::run(ranks, [&](const thread_communicator& self) -> result<void> {
    const process_group group{.ranks = self};
    ZARRPOINT_TRY(manager, group_checkpoint_manager::open(folder / "run", group));
    std::vector<float> rows(10, 4);
    ZARRPOINT_TRY(w, shard("w", std::span<float>(rows), {.offsets = {{0, self.rank(), ranks}}}));
    ZARRPOINT_CHECK(manager.save(1, state{{"step", 1}, {"w", w}}, {{"loss", 0.5}}));
    ZARRPOINT_CHECK(manager.wait());
    // What each of them sees, by itself.
    ZARRPOINT_TRY(best, manager.best("loss", better::lower));
    ZARRPOINT_TRY(place, manager.place_of(1));
    ZARRPOINT_TRY(opened, open(place));
    ZARRPOINT_TRY(all, opened.load<std::vector<float>>("w"));
    if (best != 1 || all != std::vector<float>(30, 4)) return error{errc::corrupt, "another one"};
    return manager.close();
  });
  for (const result<void>& one : done) one.value();
}

// NeMo-RL#2828
TEST_CASE("known bugs: an error hides another at the end") {
  partly_full_store place;
  auto manager = open_at(location(any_store(place)));
  for (std::int64_t step = 1; step <= 3; ++step) {
    *place.name = "step_0000000" + std::to_string(step) + "/w/";
    CHECK_FALSE(save_step(manager, step));
  }
  const auto closed = manager.close();
  REQUIRE_FALSE(closed);
  const std::string told = to_string(closed.failure());
  CHECK(told.find("step_00000001") != std::string::npos);
  CHECK(told.find("and 2 more errors") != std::string::npos);
}

}  // namespace known_bugs_test
