// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/handlers.hpp>
#include <zarrpoint/interop/orbax/orbax_format.hpp>
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include "support/executors.hpp"
#include "support/failing_publisher.hpp"
#include "support/fake_device.hpp"
#include "support/hooked_publisher.hpp"
#include "support/orbax_folders.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

// Checkpoints of Orbax that are written in the background, by one process and by many.

namespace orbax_async_saves_test {

using namespace zarrpoint;
using orbax::tree_item;
using zarrpoint_test::device_tensor;
using zarrpoint_test::fake_device;
using zarrpoint_test::fake_space;
using zarrpoint_test::files_in;
using zarrpoint_test::layouts;
using zarrpoint_test::names_in;
using zarrpoint_test::tree_options;
namespace fs = std::filesystem;

store_key key(std::string_view text) { return store_key::parse(text).value(); }

result<checkpoint> opened(const std::string& path) {
  return open(path, {.stores = formats<orbax::format>()});
}

std::vector<float> numbers(std::size_t count, float first = 0) {
  std::vector<float> out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

std::vector<float> loaded(const std::string& path, const std::string& name) {
  auto out = opened(path).value().load<std::vector<float>>(name);
  INFO((out ? std::string() : to_string(out.failure())));
  REQUIRE(out);
  return *std::move(out);
}

/// What is wrong; empty for what is done.
template <class T>
std::string text_of(const result<T>& of) {
  return of ? std::string() : to_string(of.failure());
}

bool contains(const std::string& text, std::string_view part) {
  INFO(text, " / ", part);
  CHECK(text.find(part) != text.npos);
  return text.find(part) != text.npos;
}

TEST_CASE("orbax save_async: what lies on devices, and what is not borrowed, may change at once") {
  for (const tree_options& layout : layouts()) {
    for (const bool device_copy : {false, true}) {
      fake_device device(7);
      const zarrpoint::testing::manual_executor later;
      const context how{.executor = later};
      const std::vector<float> values[] = {numbers(1000), numbers(1000, 2), numbers(1000, 3)};
      const auto make = [&](std::size_t i) {
        auto out = std::make_unique<device_tensor<float>>(fake_space{&device},
                                                          std::vector<std::size_t>{1000});
        out->upload(values[i]);
        return out;
      };
      const auto resized = make(0);
      const auto overwritten = make(1);
      auto destroyed = make(2);
      int step = 7;
      auto note = std::make_unique<std::string>("as it was");
      const test::temp_directory folder;
      tree_options options = layout;
      options.all.device_copy = device_copy;
      options.all.rules = {{.glob = "cast", .cast = dtype_kind::float64}};
      auto saving = orbax::save_async(folder / "c",
                                      {{"r", *resized},
                                       {{"list", 0}, *overwritten},
                                       {"cast", *destroyed},
                                       {"kept", numbers(50)},
                                       {"step", step},
                                       {"note", *note},
                                       {"none", orbax::empty_value::none}},
                                      options, how);
      CHECK_FALSE(saving.ready());
      CHECK(names_in(folder.path()).empty());
      resized->resize({500});
      const std::vector<float> other = numbers(1000, 9);
      overwritten->upload(other);
      destroyed.reset();
      step = 8;
      *note = "and as it is";
      note.reset();
      later.run_all();
      CHECK(saving.ready());
      const auto done = saving.get();
      INFO(text_of(done));
      REQUIRE(done);
      CHECK(done->leaves.size() == 5);
      CHECK(done->warnings.empty());
      CHECK(done->blocked_seconds > 0);
      CHECK(done->blocked_seconds <= done->seconds);
      const std::string path = folder / "c";
      CHECK(loaded(path, "r") == values[0]);
      CHECK(loaded(path, "list/0") == values[1]);
      CHECK(opened(path).value().metadata("cast").value().spec.type == dtype_kind::float64);
      CHECK(opened(path).value().load<std::vector<double>>("cast").value()[999] == 1002);
      CHECK(loaded(path, "kept") == numbers(50));
      CHECK(opened(path).value().load<int>("step").value() == 7);
      CHECK(opened(path).value().load<std::string>("note").value() == "as it was");
      CHECK(device.live_allocations() == 2);
      CHECK(device.pinned_ranges() == 0);
    }
  }
}

TEST_CASE("orbax save_async: where a device has no room for a copy the host has") {
  fake_device full(2, 300000);
  const zarrpoint::testing::manual_executor later;
  const test::temp_directory folder;
  auto w = std::make_unique<device_tensor<float>>(fake_space{&full},
                                                  std::vector<std::size_t>{256 * 256});
  const std::vector<float> values = numbers(256 * 256);
  w->upload(values);
  auto saving = orbax::save_async(folder / "c", {{"w", *w}}, {.sync = false, .device_copy = true},
                                  {.executor = later});
  w.reset();
  const std::vector<std::string> warnings = saving.get().value().warnings;
  REQUIRE(warnings.size() == 1);
  CHECK(contains(warnings[0], "\"w\": it was copied by way of the host"));
  CHECK(loaded(folder / "c", "w") == values);
}

TEST_CASE("orbax save_async: the same files as those of save, with any executor") {
  const std::vector<float> w = numbers(3000);
  for (const tree_options& layout : layouts()) {
    const test::temp_directory folder;
    const std::vector<tree_item> items{{"a/w", w}, {{"l", 0}, w}, {"n", 0.5}, {"note", "x"}};
    orbax::save(folder / "now", items, layout).value();
    const thread_pool pool(2);
    const std::vector<std::pair<std::string, any_executor>> all{
        {"inline", {}},
        {"threads", pool.executor()},
        {"lost", zarrpoint::testing::dropping_executor{}}};
    for (const auto& [name, executor] : all) {
      std::uint64_t told = 0;
      context how{.executor = executor};
      how.progress = [&](const progress_event& event) { told = event.bytes_done; };
      const auto done = orbax::save_async(folder / name, items, layout, how).get();
      INFO(name, text_of(done));
      REQUIRE(done);
      CHECK(told == done->bytes);
      CHECK(files_in(folder / name) == files_in(folder / "now"));
      CHECK(loaded(folder / name, "a/w") == w);
    }
  }
}

TEST_CASE("orbax save_async: until it is done there is no checkpoint, and its name says so") {
  const test::temp_directory folder;
  const std::vector<float> w = numbers(300);
  std::string refused;
  const auto look = [&] {
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      CHECK(entry.path().filename().string().find(".orbax-checkpoint-tmp") != std::string::npos);
      refused = text_of(opened(entry.path().string()));
    }
  };
  const test::hooked_publisher store{file_store::open(folder.path().string()).value(),
                                     {.before_commit = look}};
  const zarrpoint::testing::manual_executor later;
  auto saving =
      orbax::save_async(location(any_store(store), key("c")), {{"w", w}}, {}, {.executor = later});
  CHECK(names_in(folder.path()).empty());
  CHECK(refused.empty());
  later.run_all();
  saving.get().value();
  CHECK(contains(refused, "orbax-checkpoint-tmp"));
  CHECK(names_in(folder.path()) == std::set<std::string>{"c"});
}

TEST_CASE("orbax save_async: a result that is dropped is waited for") {
  const test::temp_directory folder;
  const std::vector<float> w = numbers(300);
  const thread_pool pool(2);
  {
    orbax::save_async(folder / "lost", {{"w", w}}, {},
                      {.executor = zarrpoint::testing::dropping_executor{}});
    pending<save_report> replaced =
        orbax::save_async(folder / "first", {{"w", w}}, {}, {.executor = pool.executor()});
    replaced = orbax::save_async(folder / "second", {{"w", w}}, {}, {.executor = pool.executor()});
  }
  for (const char* name : {"lost", "first", "second"}) CHECK(loaded(folder / name, "w") == w);
  CHECK(names_in(folder.path()).size() == 3);
}

TEST_CASE("orbax save_async: whatever write fails, the result tells it and the old one is whole") {
  const std::vector<float> w = numbers(3000);
  const std::vector<float> v = numbers(3000, 5);
  const thread_pool pool(2);
  for (const tree_options& layout : layouts()) {
    const test::temp_directory folder;
    tree_options how = layout;
    how.all.overwrite = true;
    orbax::save(folder / "c", {{"w", w}}, how).value();
    const auto left = std::make_shared<std::atomic<int>>(0);
    const zarrpoint_test::failing_publisher store{file_store::open(folder.path().string()).value(),
                                                  left};
    const location where(any_store(store), key("c"));
    int writes = 0;
    for (;; ++writes) {
      *left = writes;
      auto saving = orbax::save_async(where, {{"w", v}, {"u", v}, {"note", "x"}}, how,
                                      {.executor = pool.executor()});
      const auto done = saving.get();
      if (done) break;
      REQUIRE(writes < 100);
      CHECK(contains(text_of(done), "save the Orbax checkpoint "));
      CHECK(contains(text_of(done), "no space left"));
      CHECK(names_in(folder.path()) == std::set<std::string>{"c"});
      CHECK(loaded(folder / "c", "w") == w);
    }
    CHECK(writes >= 6);
    CHECK(loaded(folder / "c", "w") == v);
  }
}

TEST_CASE("orbax save_async: what is wrong, stopped or too much is told by the result") {
  const test::temp_directory folder;
  const std::vector<float> w = numbers(3000);
  const zarrpoint::testing::manual_executor later;
  const auto tells = [&](pending<save_report> of, errc code, std::string_view text) {
    later.run_all();
    const auto done = of.get();
    REQUIRE_FALSE(done);
    INFO(to_string(done.failure()));
    CHECK(done.failure().code == code);
    CHECK(
        contains(to_string(done.failure()), "save the Orbax checkpoint " + folder.path().string()));
    CHECK(contains(to_string(done.failure()), text));
    CHECK(fs::is_empty(folder.path()));
    return true;
  };
  const context how{.executor = later};
  const std::string path = folder / "c";
  tells(orbax::save_async(path, {}, {}, how), errc::invalid_argument, "without leaves");
  tells(orbax::save_async(path, {{"a", w}, {"a", w}}, {}, how), errc::invalid_argument,
        "two leaves");
  tells(orbax::save_async(path, {{"a", w}}, {.format = orbax::format{.paths = {{"a", "b"}}}}, how),
        errc::invalid_argument, "no process has a shard");
  tells(orbax::save_async(path, {{"a", std::vector<std::string>{"x", "y"}}}, {}, how),
        errc::unsupported, "\"a\"");
  tells(orbax::save_async(folder / "c.zip", {{"a", w}}, {}, how), errc::unsupported, "directories");
  context small = how;
  small.limit.memory = 100;
  tells(orbax::save_async(path, {{"a", w}}, {}, small), errc::resource_limit, "\"a\"");

  // Before it has begun, and while it writes.
  for (const bool late : {false, true}) {
    stop_source stop;
    context stopped = how;
    stopped.stop = stop.token();
    if (late) stopped.progress = [&](const progress_event&) { stop.request_stop(); };
    std::vector<tree_item> many;
    for (int i = 0; i < 50; ++i) many.push_back({{"l", i}, w});
    auto saving = orbax::save_async(path, many, {}, stopped);
    if (!late) stop.request_stop();
    tells(std::move(saving), errc::cancelled, "stop was requested");
  }

  // A copy from a device that fails does so before the call returns.
  fake_device device(1);
  device_tensor<float> on_device(fake_space{&device}, {1000});
  const std::vector<float> there = numbers(1000);
  on_device.upload(there);
  context tight;
  tight.limit.memory = 100;
  auto saving = orbax::save_async(path, {{"d", on_device}}, {}, tight);
  CHECK(saving.ready());
  tells(std::move(saving), errc::resource_limit, "\"d\"");
}

TEST_CASE("orbax save_async: several at once into one manager") {
  const test::temp_directory folder;
  const thread_pool pool(3);
  const context how{.executor = pool.executor()};
  std::vector<pending<save_report>> all;
  for (std::uint64_t step = 1; step <= 6; ++step)
    all.push_back(orbax::save_async(
        folder / "run", {{"w", numbers(500, static_cast<float>(step))}},
        {.overwrite = false, .sync = false, .format = orbax::format{.step = step}}, how));
  // Of two of one step only one is there.
  all.push_back(orbax::save_async(
      folder / "run", {{"w", numbers(500, 1)}},
      {.overwrite = false, .sync = false, .format = orbax::format{.step = 1}}, how));
  std::size_t failed = 0;
  for (auto& one : all) {
    const auto done = one.get();
    if (done) continue;
    ++failed;
    CHECK(done.failure().code == errc::already_exists);
  }
  CHECK(failed == 1);
  CHECK(names_in(folder / "run") == std::set<std::string>{"1", "2", "3", "4", "5", "6"});
  for (int step = 1; step <= 6; ++step)
    CHECK(loaded(folder / ("run/" + std::to_string(step)), "w") ==
          numbers(500, static_cast<float>(step)));
}

// By many processes.

/// A share of 12 x 10 elements, and a value that all have.
struct share {
  std::vector<float> rows;
  std::vector<float> whole = std::vector<float>(5);
  std::vector<sharded_tensor> shards;
  std::vector<tree_item> items;

  share(int rank, int ranks, int step) : rows(static_cast<std::size_t>(120 / ranks)) {
    fill(rank, step);
    shards.push_back(
        zarrpoint::shard("params/w", std::span<float>(rows), {.offsets = {{0, rank, ranks}}})
            .value());
    items.push_back({"whole", whole});
    items.push_back({"step", step});
    items.push_back({"note", "step " + std::to_string(step)});
  }
  share(const share&) = delete;
  share& operator=(const share&) = delete;

  void fill(int rank, int step) {
    const auto first = static_cast<float>(rank) * static_cast<float>(rows.size());
    std::iota(rows.begin(), rows.end(), static_cast<float>(1000 * step) + first);
    std::fill(whole.begin(), whole.end(), static_cast<float>(step));
  }
  orbax::tree_part part() const { return {shards, items}; }
};

/// The step of which everything in the checkpoint is, or 0.
int step_in(const std::string& path) {
  const auto from = opened(path);
  if (!from) return 0;
  const int step = from->load<int>("step").value();
  CHECK(loaded(path, "params/w") == numbers(120, static_cast<float>(1000 * step)));
  CHECK(loaded(path, "whole") == std::vector<float>(5, static_cast<float>(step)));
  CHECK(from->load<std::string>("note").value() == "step " + std::to_string(step));
  return step;
}

/// One text if all ranks have it.
template <class T>
std::string text_of(const std::vector<result<T>>& outcomes) {
  std::vector<std::string> texts;
  for (const result<T>& one : outcomes) texts.push_back(one ? "done" : to_string(one.failure()));
  CHECK(texts == std::vector<std::string>(texts.size(), texts.front()));
  return texts.front();
}

constexpr int ranks = 3;
using work_of_rank = std::function<result<void>(const thread_communicator&)>;

std::string run(const work_of_rank& work) {
  return text_of(thread_world::run(
      ranks, [&](const thread_communicator& self) -> result<void> { return work(self); }));
}

TEST_CASE("orbax async_saves: the same files as those of the save that waits") {
  for (const tree_options& layout : layouts()) {
    const test::temp_directory folder;
    const thread_pool pool(2);
    const std::vector<std::pair<std::string, any_executor>> all{
        {"inline", {}},
        {"threads", pool.executor()},
        {"lost", zarrpoint::testing::dropping_executor{}}};
    REQUIRE(run([&](const thread_communicator& self) -> result<void> {
              const share mine(self.rank(), ranks, 3);
              ZARRPOINT_CHECK(orbax::save(folder / "now", self, mine.shards, mine.items, layout));
              return {};
            }) == "done");
    for (const auto& [name, executor] : all) {
      const std::string path = folder / name;
      CHECK(run([&, &executor = executor](const thread_communicator& self) -> result<void> {
              orbax::async_saves queue(self, {.executor = executor});
              share mine(self.rank(), ranks, 3);
              ZARRPOINT_CHECK(queue.schedule(path, mine.part(), layout));
              // What is changed now is in none of them.
              mine.fill(self.rank(), 4);
              if (queue.unfinalized() != 1) return error{errc::corrupt, "not scheduled"};
              ZARRPOINT_TRY(reports, queue.finalize());
              if (reports.size() != 1 || queue.unfinalized() != 0)
                return error{errc::corrupt, "not finalized once"};
              const save_report& told = reports[0];
              if (told.leaves.size() != 3 || told.blocked_seconds > told.seconds ||
                  told.blocked_seconds <= 0)
                return error{errc::corrupt, "a wrong report"};
              return {};
            }) == "done");
      CHECK(step_in(path) == 3);
      CHECK(files_in(path) == files_in(folder / "now"));
    }
    CHECK(names_in(folder.path()).size() == 4);
  }
}

TEST_CASE("orbax async_saves: what lies on devices may be gone when it is scheduled") {
  for (const tree_options& layout : layouts()) {
    const test::temp_directory folder;
    CHECK(run([&](const thread_communicator& self) -> result<void> {
            const std::vector<float> mine = numbers(40, 40 * static_cast<float>(self.rank()));
            const std::vector<float> seven = numbers(7);
            fake_device device(1);
            const zarrpoint::testing::manual_executor later;
            orbax::async_saves queue(self, {.executor = later});
            {
              device_tensor<float> part(fake_space{&device, 0}, {4, 10});
              part.upload(mine);
              device_tensor<float> whole(fake_space{&device, 0}, {7});
              whole.upload(seven);
              shard_metadata of{.key = "w",
                                .type = dtype_kind::float32,
                                .local_shape = {4, 10},
                                .global_shape = {12, 10},
                                .global_offset = {4 * self.rank(), 0}};
              const std::vector<sharded_tensor> shards{
                  sharded<device_tensor<float>>::borrow(of, part).value()};
              const std::vector<tree_item> items{{"whole", whole}};
              ZARRPOINT_CHECK(queue.schedule(folder / "c", {shards, items}, layout));
            }
            if (device.live_allocations() != 0) return error{errc::corrupt, "still on the device"};
            later.run_all();
            ZARRPOINT_CHECK(queue.finalize());
            return {};
          }) == "done");
    CHECK(opened(folder / "c").value().load<tensor>("w").value().shape() == dims{12, 10});
    CHECK(loaded(folder / "c", "whole") == numbers(7));
    const tensor w = opened(folder / "c").value().load<tensor>("w").value();
    const std::vector<float> wanted = numbers(120);
    CHECK(std::memcmp(w.view().data, wanted.data(), 480) == 0);
  }
}

TEST_CASE("orbax async_saves: steps in order, and a failed one does not stop the later") {
  for (const bool ocdbt : {true, false}) {
    const test::temp_directory folder;
    const std::string root = folder / "run";
    // Of step 2 a file stands where rank 1 wants a directory.
    std::atomic<int> staged = 0;
    const auto block = [&] {
      if (++staged != 2) return;
      for (const auto& entry : fs::directory_iterator(root)) {
        if (!entry.path().filename().string().starts_with(".2.")) continue;
        const fs::path at =
            entry.path() / "default" / (ocdbt ? "ocdbt.process_1" : "params.w/c/1/x");
        fs::create_directories(at.parent_path());
        test::write_file(at.string(), "in the way");
      }
    };
    fs::create_directory(root);
    const test::hooked_publisher store{file_store::open(root).value(), {.after_stage = block}};
    std::vector<std::vector<std::uint64_t>> noted(ranks);
    const std::string text = run([&](const thread_communicator& self) -> result<void> {
      orbax::async_saves queue(self);
      share mine(self.rank(), ranks, 1);
      for (int step = 1; step <= 3; ++step) {
        mine.fill(self.rank(), step);
        mine.items[1] = {"step", step};
        mine.items[2] = {"note", "step " + std::to_string(step)};
        tree_options options{.all = {.sync = false}, .own = {.ocdbt = ocdbt}};
        options.own.step = static_cast<std::uint64_t>(step);
        ZARRPOINT_CHECK(queue.schedule(
            location(any_store(store), key("")), mine.part(), options,
            [&noted, &self, step](const save_report& report) -> result<void> {
              noted[static_cast<std::size_t>(self.rank())].push_back(
                  static_cast<std::uint64_t>(step));
              return report.bytes != 0 ? result<void>() : error{errc::corrupt, "no bytes"};
            }));
      }
      return queue.finalize().transform([](const auto&) {});
    });
    CHECK(contains(text, "rank 1"));
    CHECK(contains(text, "save the Orbax checkpoint"));
    for (const auto& one : noted) CHECK(one == std::vector<std::uint64_t>{1, 3});
    CHECK(names_in(root) == std::set<std::string>{"1", "3"});
    CHECK(step_in(root + "/1") == 1);
    CHECK(step_in(root + "/3") == 3);
  }
}

TEST_CASE("orbax async_saves: what is not complete everywhere is not finalized without waiting") {
  const test::temp_directory folder;
  std::string refused;
  CHECK(run([&](const thread_communicator& self) -> result<void> {
          const zarrpoint::testing::manual_executor mine;
          any_executor executor = inline_executor{};
          if (self.rank() == 1) executor = mine;
          orbax::async_saves queue(self, {.executor = executor});
          const share values(self.rank(), ranks, 1);
          ZARRPOINT_CHECK(queue.schedule(folder / "c", values.part()));
          ZARRPOINT_TRY(none, queue.finalize(false));
          if (!none.empty() || queue.unfinalized() != 1) return error{errc::corrupt, "too early"};
          if (self.rank() == 0) {
            const auto names = names_in(folder.path());
            if (names.size() != 1) return error{errc::corrupt, "published too early"};
            refused = text_of(opened(folder / *names.begin()));
          }
          mine.run_all();
          ZARRPOINT_TRY(one, queue.finalize(false));
          if (one.size() != 1) return error{errc::corrupt, "not all"};
          ZARRPOINT_TRY(nothing, queue.finalize());
          return nothing.empty() ? result<void>() : error{errc::corrupt, "more than there was"};
        }) == "done");
  CHECK(contains(refused, "orbax-checkpoint-tmp"));
  CHECK(step_in(folder / "c") == 1);
}

TEST_CASE("orbax async_saves: the examples of docs/orbax.md") {
  namespace zp = zarrpoint;
  const test::temp_directory folder;
  const std::string root = folder / "run";
  const auto how = zp::context{};
  {
    std::vector<float> kernel = numbers(48);
    zp::pending<zp::save_report> saving =
        zp::orbax::save_async(root, {{"params/kernel", std::move(kernel)}, {"step", 1200}},
                              {.format = zp::orbax::format{.step = 1200}}, how);
    const zp::save_report report = saving.get().value();
    CHECK(report.leaves.size() == 2);
  }
  const std::string many = folder / "many";
  CHECK(run([&](const thread_communicator& ranks) -> zp::result<void> {
          std::vector<float> rows(4);
          const std::vector<zp::orbax::tree_item> values{{"lr", 0.5}};
          zp::orbax::async_saves saves(ranks);
          for (std::uint64_t step = 1; step <= 3; ++step) {
            std::fill(rows.begin(), rows.end(), static_cast<float>(step));
            ZARRPOINT_TRY(w, zp::shard("params/w", std::span<float>(rows),
                                       {.offsets = {{0, ranks.rank(), ranks.size()}}}));
            const std::vector<zp::sharded_tensor> shards{w};
            ZARRPOINT_CHECK(saves.schedule(many, {shards, values},
                                           {.format = zp::orbax::format{.step = step}}));
            ZARRPOINT_CHECK(saves.finalize(false));  // those that are written by all processes
          }
          ZARRPOINT_CHECK(saves.finalize());  // and the others
          return {};
        }) == "done");
  CHECK(names_in(many) == std::set<std::string>{"1", "2", "3"});
  CHECK(loaded(many + "/2", "params/w") == std::vector<float>(12, 2));
}

}  // namespace orbax_async_saves_test
