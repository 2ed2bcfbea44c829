// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/group_manager.hpp>
#include <zarrpoint/stores.hpp>

#include "support/executors.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace group_manager_test {

using namespace zarrpoint;
namespace fs = std::filesystem;
using list = std::vector<std::int64_t>;

constexpr int ranks = 3;

/// One text if all ranks have it: "done", or the error.
std::string run(const std::function<result<void>(const thread_communicator&)>& work) {
  std::vector<std::string> texts;
  for (const result<void>& one : thread_world::run(
           ranks, [&](const thread_communicator& self) -> result<void> { return work(self); }))
    texts.push_back(one ? "done" : to_string(one.failure()));
  CHECK(texts == std::vector<std::string>(ranks, texts.front()));
  return texts.front();
}

error wrong(const char* what) { return {errc::corrupt, what}; }

result<bool> save_step(group_checkpoint_manager& by, const thread_communicator& self,
                       std::int64_t step, double loss = 0) {
  std::vector<float> rows(10, static_cast<float>(step));
  ZARRPOINT_TRY(w, shard("w", std::span<float>(rows), {.offsets = {{0, self.rank(), ranks}}}));
  ZARRPOINT_TRY(begun, by.save(step, state{{"step", step}, {"w", w}}, {{"loss", loss}}));
  rows.assign(10, -1);  // staged
  return begun;
}

result<void> expect_step(group_checkpoint_manager& by, const process_group& group,
                         std::int64_t step) {
  ZARRPOINT_TRY(at, by.place_of(step));
  ZARRPOINT_TRY(w,
                shard("w", std::vector<float>(10), {.offsets = {{0, group.ranks.rank(), ranks}}}));
  ZARRPOINT_CHECK(load(at, state{{"w", w}}, group));
  if (w.value() != std::vector<float>(10, static_cast<float>(step))) return wrong("other values");
  return {};
}

TEST_CASE("group manager: keeps the newest and the best, and knows them after a restart") {
  const test::temp_directory folder;
  const std::string path = folder / "run";
  const manager_options options{
      .save_when = save_policy::every_steps(10),
      .keep = keep_policy::newest(2) | keep_policy::best(1, "loss", better::lower)};
  CHECK(run([&](const thread_communicator& self) -> result<void> {
          const process_group group{.ranks = self};
          ZARRPOINT_TRY(manager, group_checkpoint_manager::open(path, group, options));
          ZARRPOINT_TRY(none, manager.latest());
          if (none) return wrong("a step is there");
          for (std::int64_t step = 1; step <= 50; ++step) {
            ZARRPOINT_TRY(due, manager.should_save(step));
            if (due != (step % 10 == 0)) return wrong("not every tenth step");
            if (due) ZARRPOINT_CHECK(save_step(manager, self, step, step == 20 ? 0.1 : 0.5));
          }
          ZARRPOINT_CHECK(manager.wait());
          ZARRPOINT_TRY(steps, manager.steps());
          if (steps != list{20, 40, 50}) return wrong("other steps");
          return manager.close();
        }) == "done");
  CHECK(run([&](const thread_communicator& self) -> result<void> {
          const process_group group{.ranks = self};
          ZARRPOINT_TRY(manager, group_checkpoint_manager::open(path, group, options));
          ZARRPOINT_TRY(latest, manager.latest());
          ZARRPOINT_TRY(best, manager.best("loss", better::lower));
          if (latest != 50 || best != 20) return wrong("other steps");
          ZARRPOINT_CHECK(expect_step(manager, group, 50));
          ZARRPOINT_CHECK(expect_step(manager, group, 20));
          const auto absent = manager.place_of(30);
          if (absent || absent.failure().code != errc::not_found) return wrong("step 30 is there");
          // A signal on one rank is one on all.
          if (self.rank() == 2) manager.request_save();
          ZARRPOINT_TRY(due, manager.should_save(51));
          if (!due || !manager.save_requested()) return wrong("the request was not heard");
          ZARRPOINT_CHECK(save_step(manager, self, 51));
          ZARRPOINT_TRY(again, manager.should_save(52));
          if (again || manager.save_requested()) return wrong("the request was heard twice");
          ZARRPOINT_CHECK(save_step(manager, self, 20));  // replaced
          return manager.close();
        }) == "done");
  CHECK(checkpoint_manager::open(path).value().steps() == list{20, 50, 51});
}

TEST_CASE("group manager: an error is the same on all ranks, once, and close tells it again") {
  const test::temp_directory folder;
  const std::string path = folder / "run";
  fs::create_directory(path);
  save(path + "/step_00000002", {{"w", 1}}).value();
  const std::string told = run([&](const thread_communicator& self) -> result<void> {
    const process_group group{.ranks = self};
    ZARRPOINT_TRY(manager, group_checkpoint_manager::open(path, group));
    ZARRPOINT_CHECK(save_step(manager, self, 1));
    const auto refused = save_step(manager, self, 2);  // the program's own
    if (refused || refused.failure().code != errc::already_exists) return wrong("it was replaced");
    // Somebody takes the directory away while step 3 is written.
    ZARRPOINT_CHECK(save_step(manager, self, 3));
    ZARRPOINT_CHECK(barrier(group.ranks));
    if (self.rank() == 0) {
      for (const std::string& name : test::names_in(path))
        if (std::error_code busy; name.starts_with(".step_"))  // others write into it
          while (fs::exists(path + '/' + name)) fs::remove_all(path + '/' + name, busy);
    }
    ZARRPOINT_CHECK(barrier(group.ranks));
    if (manager.wait()) return wrong("nothing was noticed");
    if (!manager.wait()) return wrong("it was told twice");
    ZARRPOINT_CHECK(save_step(manager, self, 4));
    ZARRPOINT_CHECK(manager.wait());
    ZARRPOINT_TRY(steps, manager.steps());
    if (steps != list{1, 2, 4}) return wrong("other steps");
    return manager.close();
  });
  CHECK_MESSAGE(told.find("close the manager of ") != std::string::npos, told);
}

TEST_CASE("group manager: what rank 0 cannot open, nobody opens") {
  const test::temp_directory folder;
  const std::string path = folder / "run";
  const auto other = checkpoint_manager::open(path).value();
  const std::string told = run([&](const thread_communicator& self) -> result<void> {
    ZARRPOINT_CHECK(group_checkpoint_manager::open(path, {.ranks = self}));
    return {};
  });
  CHECK(told.find("in use by another manager") != std::string::npos);
}

}  // namespace group_manager_test
