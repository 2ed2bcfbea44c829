// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/delta.hpp>
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
  // One process makes a delta of two steps of many.
  save_delta(folder / "delta", delta::format{.base = path + "/step_00000050"},
             open(path + "/step_00000051").value())
      .value();
  const std::vector<float> wanted(30, 51);
  CHECK(open_delta(folder / "delta").value().load<std::vector<float>>("w").value() == wanted);
}

TEST_CASE("group manager: what is pruned, pinned and removed is the same on all ranks") {
  const test::temp_directory folder;
  const std::string path = folder / "run";
  CHECK(run([&](const thread_communicator& self) -> result<void> {
          const process_group group{.ranks = self};
          ZARRPOINT_TRY(manager, group_checkpoint_manager::open(path, group));
          const auto are = [&](const list& wanted) -> result<void> {
            ZARRPOINT_TRY(steps, manager.steps());
            return steps == wanted ? result<void>() : wrong("other steps");
          };
          const auto refused = [](const auto& done, errc code, const char* why) -> result<void> {
            if (done || done.failure().code != code) return wrong("it was not refused");
            const bool is_told = done.failure().message.find(why) != std::string::npos;
            return is_told ? result<void>() : done.failure();
          };
          for (std::int64_t step = 1; step <= 5; ++step)
            ZARRPOINT_CHECK(save_step(manager, self, step));
          ZARRPOINT_CHECK(manager.wait());
          ZARRPOINT_CHECK(manager.pin(2));
          // What rank 0 gives counts.
          const keep_policy keep = self.rank() == 0 ? keep_policy::newest(2) : keep_policy::all();
          const auto is_same = [](const std::vector<step_removal>& told) {
            return told.size() == 2 && told[0].step == 1 && told[0].name == "step_00000001" &&
                   told[0].why == "not kept by: the newest 2" && !told[0].stays &&
                   told[1].step == 3;
          };
          ZARRPOINT_TRY(would_go, manager.dry_run(keep));
          ZARRPOINT_TRY(none, manager.dry_run());
          if (!is_same(would_go) || !none.empty()) return wrong("other steps would go");
          ZARRPOINT_CHECK(are({1, 2, 3, 4, 5}));
          ZARRPOINT_TRY(gone, manager.prune(keep));
          ZARRPOINT_TRY(no_more, manager.prune());
          if (!is_same(gone) || !no_more.empty()) return wrong("other steps went");
          ZARRPOINT_CHECK(are({2, 4, 5}));
          ZARRPOINT_CHECK(refused(manager.remove(5), errc::invalid_argument, "the newest whole"));
          ZARRPOINT_CHECK(refused(manager.remove(2), errc::invalid_argument, "to be kept"));
          ZARRPOINT_CHECK(refused(manager.remove(1), errc::not_found, "no such step"));
          ZARRPOINT_CHECK(refused(manager.pin(1), errc::not_found, "no such step"));
          ZARRPOINT_CHECK(manager.pin(2, false));
          ZARRPOINT_CHECK(manager.remove(2));
          ZARRPOINT_CHECK(manager.remove(5, true));
          ZARRPOINT_CHECK(are({4}));
          ZARRPOINT_CHECK(save_step(manager, self, 4));  // again, and not committed yet
          ZARRPOINT_CHECK(refused(manager.remove(4, true), errc::invalid_argument, "being saved"));
          ZARRPOINT_CHECK(save_step(manager, self, 6));
          ZARRPOINT_CHECK(manager.wait());
          ZARRPOINT_CHECK(are({4, 6}));
          ZARRPOINT_CHECK(expect_step(manager, group, 4));
          if (self.rank() == 0) fs::remove_all(path + "/step_00000004");
          ZARRPOINT_CHECK(manager.refresh());
          ZARRPOINT_CHECK(are({6}));
          ZARRPOINT_CHECK(manager.close());
          return refused(manager.remove(6, true), errc::invalid_argument, "is closed");
        }) == "done");
  CHECK(test::names_in(path) == std::vector<std::string>{".zarrpoint_manager", "step_00000006"});
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

TEST_CASE("group manager: an option that asks for deltas is refused on all ranks") {
  const test::temp_directory folder;
  const std::string path = folder / "run";
  CHECK(run([&](const thread_communicator& self) -> result<void> {
          ZARRPOINT_CHECK(group_checkpoint_manager::open(
              path, {.ranks = self}, {.whole_when = save_policy::every_steps(10)}));
          return {};
        }).find("leave out whole_when") != std::string::npos);
  CHECK(!fs::exists(path));
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
