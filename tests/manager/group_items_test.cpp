// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Steps of several processes with items, in formats of their own; and processes that die.

#include <zarrpoint/all_codecs.hpp>
#include <zarrpoint/dcp_save.hpp>
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/formats.hpp>
#include <zarrpoint/group_manager.hpp>
#include <zarrpoint/orbax.hpp>
#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/stores.hpp>
#include <zarrpoint/verify.hpp>

#include "support/fork_world.hpp"
#include "support/random_rounds.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace group_items_test {

using namespace zarrpoint;
using zarrpoint_test::fork_communicator;
using zarrpoint_test::fork_world;
namespace fs = std::filesystem;
using list = std::vector<std::int64_t>;
using names = std::vector<std::string>;

constexpr index_t rows = 3000;  // of each process

error wrong(const std::string& what) { return {errc::corrupt, what}; }

/// A model, its moments in a format of their own, and settings.
struct items_of {
  explicit items_of(std::int64_t at)
      : step(at), w(rows, static_cast<float>(at)), same(rows, 0.5F), m(rows, 1) {}

  result<std::vector<group_item>> make(const any_communicator& ranks, any_writable_format as) {
    const auto part = [&](const char* name, std::vector<float>& all) {
      return shard(name, std::span<float>(all), {.offsets = {{0, ranks.rank(), ranks.size()}}});
    };
    ZARRPOINT_TRY(a, part("w", w));
    ZARRPOINT_TRY(b, part("same", same));
    ZARRPOINT_TRY(c, part("m", m));
    std::vector<group_item> out(3);
    out[0] = {.name = "model", .tree = state{{"step", step}, {"w", a}, {"same", b}}};
    out[1] = {.name = "optimizer", .tree = state{{"m", c}}};
    if (as) {
      out[1].options.emplace();
      out[1].options->storage.format = std::move(as);
    }
    out[2] = {.name = "settings.json", .document = json(step)};
    return out;
  }

  std::int64_t step;
  std::vector<float> w, same, m;
};

result<bool> save_step(group_checkpoint_manager& by, const any_communicator& ranks,
                       std::int64_t step, any_writable_format as = {}) {
  items_of all(step);
  ZARRPOINT_TRY(items, all.make(ranks, std::move(as)));
  ZARRPOINT_TRY(begun, by.save_items(step, std::move(items), {{"loss", 1.0 / double(step)}}));
  all.w.assign(rows, -1);  // staged
  return begun;
}

/// Whether each item of a step has its values, as one process reads them.
result<void> expect_step(const std::string& run, std::int64_t step, int ranks) {
  context how;
  how.stores = all_formats();
  ZARRPOINT_TRY(manager, checkpoint_manager::open(run, {.exclusive = false, .how = how}));
  const auto expect = [&](const char* item, const char* leaf, float value) -> result<void> {
    ZARRPOINT_TRY(opened, manager.restore(step, item));
    ZARRPOINT_TRY(all, opened.data.load<std::vector<float>>(leaf));
    if (all != std::vector<float>(static_cast<std::size_t>(ranks * rows), value))
      return wrong(std::string(item) + " has other values");
    ZARRPOINT_TRY(verified, verify(opened.data));
    return verified.result() == verdict::faulty ? wrong(std::string(item) + " is faulty")
                                                : result<void>();
  };
  ZARRPOINT_CHECK(expect("model", "w", static_cast<float>(step)));
  ZARRPOINT_CHECK(expect("model", "same", 0.5F));
  ZARRPOINT_CHECK(expect("optimizer", "m", 1));
  ZARRPOINT_TRY(settings, manager.document(step, "settings.json"));
  return settings == json(step) ? result<void>() : wrong("other settings");
}

/// One text if all ranks have it: "done", or the error.
std::string run_threads(int ranks,
                        const std::function<result<void>(const thread_communicator&)>& work) {
  names texts;
  for (const result<void>& one : thread_world::run(ranks, work))
    texts.push_back(one ? "done" : to_string(one.failure()));
  for (const std::string& one : texts) CHECK(one == texts.front());
  return texts.front();
}

TEST_CASE("group manager: items are committed together and load alone, by formats of their own") {
  for (const int ranks : {1, 3}) {
    CAPTURE(ranks);
    const test::temp_directory folder;
    const std::string path = folder / "run";
    manager_options options{.keep = keep_policy::newest(2), .verify = true};
    options.how.stores = all_formats();
    const std::vector<any_writable_format> as = {any_writable_format{}, orbax::format{},
                                                 dcp::format{}};
    CHECK(run_threads(ranks, [&](const thread_communicator& self) -> result<void> {
            ZARRPOINT_TRY(manager, group_checkpoint_manager::open(path, {.ranks = self}, options));
            for (std::int64_t step = 1; step <= 3; ++step)
              ZARRPOINT_CHECK(
                  save_step(manager, self, step, as[static_cast<std::size_t>(step - 1)]));
            ZARRPOINT_CHECK(manager.wait());
            ZARRPOINT_TRY(steps, manager.steps());
            if (steps != list{2, 3}) return wrong("other steps");
            ZARRPOINT_TRY(best, manager.best("loss", better::lower));
            if (best != 3) return wrong("another best");
            ZARRPOINT_TRY(settings, manager.document(3, "settings.json"));
            if (settings != json(3)) return wrong("other settings");
            const auto which = manager.place_of(3);
            if (which || which.failure().code != errc::invalid_argument) return wrong("which?");
            // A part of a step, by all.
            ZARRPOINT_TRY(at, manager.place_of(3, "model"));
            ZARRPOINT_TRY(w, shard("w", std::vector<float>(static_cast<std::size_t>(rows)),
                                   {.offsets = {{0, self.rank(), ranks}}}));
            ZARRPOINT_CHECK(load(at, state{{"w", w}}, {.ranks = self}));
            if (w.value()[0] != 3) return wrong("other values");
            ZARRPOINT_CHECK(save_step(manager, self, 2));  // replaced
            return manager.close();
          }) == "done");
    CHECK(test::names_in(path) == names{".zarrpoint_manager", "step_00000002", "step_00000003"});
    for (const std::int64_t step : {2, 3}) expect_step(path, step, ranks).value();
    // What one process knows after a restart is the same.
    auto again = checkpoint_manager::open(path, options).value();
    CHECK(again.steps() == list{2, 3});
    CHECK(again.records()[1].items == names{"model", "optimizer", "settings.json"});
    fs::remove_all(path + "/step_00000003/model/w");
    CHECK(again.latest().value() == 2);
  }
}

TEST_CASE("group manager: a format of its own for all") {
  const test::temp_directory folder;
  const std::string path = folder / "run";
  manager_options options{.keep = keep_policy::newest(1), .prefix = "", .digits = 0};
  options.storage.format = orbax::format{};
  options.how.stores = all_formats();
  CHECK(run_threads(2, [&](const thread_communicator& self) -> result<void> {
          ZARRPOINT_TRY(manager, group_checkpoint_manager::open(path, {.ranks = self}, options));
          for (const std::int64_t step : {9, 10}) {
            std::vector<float> w(10, static_cast<float>(step));
            ZARRPOINT_TRY(a, shard("w", std::span<float>(w), {.offsets = {{0, self.rank(), 2}}}));
            ZARRPOINT_CHECK(manager.save(step, state{{"w", a}}));
          }
          ZARRPOINT_CHECK(manager.wait());
          ZARRPOINT_TRY(at, manager.place_of(10));
          if (at.name() != path + "/10/default") return wrong(at.name());
          return manager.close();
        }) == "done");
  CHECK(test::names_in(path) == names{".zarrpoint_manager", "10"});
  const auto opened = open(path + "/10/default", all_formats()).value();
  CHECK(opened.format().starts_with("Orbax"));
  CHECK(opened.load<std::vector<float>>("w").value() == std::vector<float>(20, 10));
}

TEST_CASE("group manager: what did not change of an item is shared") {
  const test::temp_directory folder;
  const std::string path = folder / "run";
  CHECK(run_threads(2, [&](const thread_communicator& self) -> result<void> {
          ZARRPOINT_TRY(manager, group_checkpoint_manager::open(
                                     path, {.ranks = self},
                                     {.keep = keep_policy::newest(2), .share_unchanged = true}));
          for (std::int64_t step = 1; step <= 3; ++step) {
            ZARRPOINT_CHECK(save_step(manager, self, step));
            ZARRPOINT_CHECK(manager.wait());
          }
          return manager.close();
        }) == "done");
  const std::string step = path + "/step_00000003/";
  for (const char* object : {"model/same/c/0", "model/same/c/1", "optimizer/m/c/1"})
    CHECK(fs::hard_link_count(step + object) == 2);  // step 1 is gone
  CHECK(fs::hard_link_count(step + "model/w/c/0") == 1);
  for (const std::int64_t one : {2, 3}) expect_step(path, one, 2).value();
}

TEST_CASE("group manager: in memory, where nothing is published in one step by many") {
  const memory_store place;
  CHECK(run_threads(2, [&](const thread_communicator& self) -> result<void> {
          ZARRPOINT_TRY(manager,
                        group_checkpoint_manager::open(location(any_store(place)), {.ranks = self},
                                                       {.keep = keep_policy::newest(1)}));
          for (std::int64_t step = 1; step <= 2; ++step)
            ZARRPOINT_CHECK(save_step(manager, self, step));
          ZARRPOINT_CHECK(save_step(manager, self, 2));
          return manager.close();
        }) == "done");
  auto again = checkpoint_manager::open(location(any_store(place))).value();
  CHECK(again.latest().value() == 2);
  CHECK(again.steps() == list{2});
  CHECK(again.restore(2, "model").value().data.load<std::vector<float>>("w").value() ==
        std::vector<float>(2 * rows, 2));
}

TEST_CASE("group manager: an item that fails is a step that fails, and nothing of it stays") {
  const test::temp_directory folder;
  const std::string path = folder / "run";
  const std::string told = run_threads(2, [&](const thread_communicator& self) -> result<void> {
    ZARRPOINT_TRY(manager, group_checkpoint_manager::open(path, {.ranks = self}));
    ZARRPOINT_CHECK(save_step(manager, self, 1));
    const auto refuses = [&](std::vector<group_item> items, errc code) {
      const auto begun = manager.save_items(2, std::move(items));
      return !begun && begun.failure().code == code;
    };
    items_of all(2);
    // A file that many cannot write, behind an item that is written.
    ZARRPOINT_TRY(items, all.make(self, {}));
    items[1].options.emplace();
    items[1].options->storage.format = safetensors::format{};
    if (!refuses(std::move(items), errc::unsupported)) return wrong("no error of the format");
    ZARRPOINT_TRY(others, all.make(self, {}));
    if (self.rank() == 1) others[1].name = "other";
    if (!refuses(std::move(others), errc::invalid_argument)) return wrong("other names");
    ZARRPOINT_TRY(twice, all.make(self, {}));
    twice[1].name = "model";
    if (!refuses(std::move(twice), errc::invalid_argument)) return wrong("one name twice");
    if (!refuses({}, errc::invalid_argument)) return wrong("no items");
    if (!refuses({{.name = "a/b"}}, errc::invalid_argument)) return wrong("no name");
    // Somebody takes the files away while they are written.
    ZARRPOINT_CHECK(save_step(manager, self, 3));
    ZARRPOINT_CHECK(barrier(self));
    if (self.rank() == 0) {
      for (const std::string& name : test::names_in(path))
        if (std::error_code busy; name.starts_with(".step_"))
          while (fs::exists(path + '/' + name)) fs::remove_all(path + '/' + name, busy);
    }
    ZARRPOINT_CHECK(barrier(self));
    if (manager.wait()) return wrong("nothing was noticed");
    ZARRPOINT_CHECK(save_step(manager, self, 4));
    ZARRPOINT_CHECK(manager.wait());
    ZARRPOINT_TRY(steps, manager.steps());
    if (steps != list{1, 4}) return wrong("other steps");
    return manager.close();
  });
  CHECK_MESSAGE(told.find("close the manager of ") != std::string::npos, told);
  CHECK(test::names_in(path) == names{".zarrpoint_manager", "step_00000001", "step_00000004"});
  for (const std::int64_t step : {1, 4}) expect_step(path, step, 2).value();
}

// ThreadSanitizer lets a child of fork start no thread where its parent has some; none starts one
// here. Fewer deaths are tried where tests are thinned.
TEST_CASE("group manager: a process dies before any exchange, and the next start finds no litter") {
  constexpr int ranks = 2;
  constexpr int each = zarrpoint_test::is_about_threads ? 9 : (zarrpoint_test::is_thinned ? 5 : 1);
  const test::temp_directory folder;
  const std::string path = folder / "run";
  manager_options options{.keep = keep_policy::newest(1) |
                                  keep_policy::best(1, "loss", better::higher)};
  options.how = context{};
  options.storage.sync = false;
  const auto save_all = [&](std::int64_t step, int dying, int at) {
    return fork_world(ranks, [&](const fork_communicator& self) {
      self.before_each([&](int number) {
        if (self.rank() == dying && number == at) zarrpoint_test::kill_this_process();
      });
      const auto run = [&]() -> result<void> {
        ZARRPOINT_TRY(manager, group_checkpoint_manager::open(
                                   path, {.ranks = self, .how = context{}}, options));
        ZARRPOINT_CHECK(save_step(manager, self, step));
        return manager.close();
      };
      const result<void> done = run();
      return done ? "done " + std::to_string(self.exchanges()) : to_string(done.failure());
    });
  };
  const names first = save_all(1, -1, 0);
  REQUIRE(first[0].starts_with("done "));
  const int exchanges = std::stoi(first[0].substr(5));
  REQUIRE(exchanges > 20);
  std::int64_t step = 1;
  int deaths = 0;
  for (const int dying : {0, 1}) {
    for (int at = dying; at < exchanges; at += each) {
      CAPTURE(dying);
      CAPTURE(at);
      const names said = save_all(++step, dying, at);
      REQUIRE(said[static_cast<std::size_t>(dying)] == "died of signal 9");
      const std::string& other = said[static_cast<std::size_t>(1 - dying)];
      CAPTURE(other);
      CHECK(other.find("rank " + std::to_string(dying) + " is gone") != other.npos);
      ++deaths;
      auto manager = checkpoint_manager::open(path, options).value();
      const list steps = manager.steps();
      REQUIRE(!steps.empty());
      CHECK(steps.front() == 1);  // the best
      for (const std::int64_t one : steps) expect_step(path, one, ranks).value();
      CHECK(manager.latest().value() == steps.back());
      CHECK(test::names_in(path).size() == steps.size() + 1);
      manager.close().value();
    }
  }
  CHECK(deaths > 5);
  // Others go on, as many as there are.
  CHECK(run_threads(3, [&](const thread_communicator& self) -> result<void> {
          ZARRPOINT_TRY(manager, group_checkpoint_manager::open(path, {.ranks = self}, options));
          ZARRPOINT_CHECK(save_step(manager, self, step + 1));
          return manager.close();
        }) == "done");
  expect_step(path, step + 1, 3).value();
  CHECK(checkpoint_manager::open(path).value().steps() == list{1, step + 1});
}

}  // namespace group_items_test
