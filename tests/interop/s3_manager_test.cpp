// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The steps of a run in one place of S3.

#include <zarrpoint/distributed.hpp>
#include <zarrpoint/formats.hpp>
#include <zarrpoint/group_manager.hpp>
#include <zarrpoint/manager.hpp>
#include <zarrpoint/s3.hpp>
#include <zarrpoint/verify.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "support/fake_s3.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace s3_manager_tests {

using namespace test;
using list = std::vector<std::int64_t>;

namespace {

zp::checkpoint_manager open_run(const fake_s3& of, zp::manager_options how = {}) {
  return zp::checkpoint_manager::open(open_fake_s3(of, "run").places(), std::move(how)).value();
}

std::vector<float> values(std::int64_t of) {
  return std::vector<float>(5000, static_cast<float>(of));
}

zp::result<void> save_step(zp::checkpoint_manager& by, std::int64_t step, std::int64_t value) {
  const std::vector<float> same(5000, -1);
  ZARRPOINT_CHECK(by.save(step, {{"w", values(value)}, {"same", same}, {"step", value}},
                          {{"loss", static_cast<double>(step % 3)}}));
  return by.wait();
}

bool has_step(const zp::result<zp::restored_step>& of, std::int64_t step, std::int64_t value) {
  return of && of->step == step &&
         of->data.load<std::vector<float>>("w").value() == values(value) &&
         zp::verify(of->data).value().result() == zp::verdict::ok;
}

std::size_t count_keys(const fake_s3& of, std::string_view prefix) {
  const auto keys = of.keys();
  return static_cast<std::size_t>(std::count_if(
      keys.begin(), keys.end(), [&](const auto& one) { return one.starts_with(prefix); }));
}

/// The same server by its URL.
struct fake_access {
  static inline fake_s3 server;
  static zp::any_transport transport() { return server; }
  static zp::s3_options s3() { return fake_s3_options(server); }
};

}  // namespace

TEST_CASE("s3: a manager keeps its steps in one place, and knows them after a restart") {
  const fake_s3 of;
  const zp::manager_options how{.keep = zp::keep_policy::newest(2) |
                                        zp::keep_policy::best(1, "loss", zp::better::lower)};
  {
    auto manager = open_run(of, how);
    CHECK_FALSE(manager.latest().value());
    for (std::int64_t step = 1; step <= 5; ++step) save_step(manager, step, step).value();
    CHECK(manager.steps() == list{3, 4, 5});
    manager.close().value();
  }
  CHECK(count_keys(of, "run/step_00000001/") == 0);
  of->objects["run/notes/x"].bytes = "mine";
  of->objects["run/step_00000002/x"].bytes = "mine";
  auto manager = open_run(of, how);
  CHECK(manager.steps() == list{3, 4, 5});
  CHECK(has_step(manager.restore_latest(), 5, 5));
  CHECK(has_step(manager.restore_best("loss", zp::better::lower), 3, 3));
  // A step is replaced in one step, and what had it before is read no more.
  save_step(manager, 5, 50).value();
  CHECK(has_step(manager.restore(5), 5, 50));
  for (std::int64_t step = 6; step <= 8; ++step) save_step(manager, step, step).value();
  CHECK(manager.steps() == list{6, 7, 8});
  CHECK(count_keys(of, "run/step_00000005/") == 0);
  CHECK(of->objects.contains("run/notes/x"));
  CHECK(of->objects.contains("run/step_00000002/x"));
  // Each step is a checkpoint of its own.
  CHECK(zp::open(open_fake_s3(of, "run/step_00000008"))
            .value()
            .load<std::vector<float>>("w")
            .value() == values(8));
  manager.remove(7).value();
  CHECK(manager.remove(8).failure().code == zp::errc::invalid_argument);
  CHECK(open_run(of).steps() == list{6, 8});
}

TEST_CASE("s3: a manager by the URL of its place, with items") {
  zp::manager_options how{.keep = zp::keep_policy::newest(1)};
  how.how.stores = zp::formats<zp::s3_scheme_by<fake_access>>();
  auto manager = zp::checkpoint_manager::open("s3://bucket/url/run", how).value();
  save_step(manager, 1, 1).value();
  manager
      .save_items(
          2, {{.name = "model", .leaves = {{"w", values(2)}}}, {.name = "x.json", .document = 7}})
      .value();
  manager.wait().value();
  CHECK(manager.steps() == list{2});
  CHECK(has_step(manager.restore(2, "model"), 2, 2));
  CHECK(manager.document(2, "x.json").value() == zp::json(7));
  // An observer sees what others have published since.
  how.exclusive = false;
  auto watcher = zp::checkpoint_manager::open("s3://bucket/url/run", how).value();
  CHECK(watcher.steps() == list{2});
  save_step(manager, 3, 3).value();
  save_step(manager, 3, 30).value();
  watcher.refresh().value();
  CHECK(watcher.steps() == list{3});
  CHECK(has_step(watcher.restore_latest(), 3, 30));
}

TEST_CASE("s3: a second manager takes the place, and the first one is told") {
  const fake_s3 of;
  auto first = open_run(of);
  save_step(first, 1, 1).value();
  auto second = open_run(of);
  CHECK(save_step(first, 2, 2).failure().code == zp::errc::unavailable);
  save_step(second, 2, 2).value();
}

TEST_CASE("s3: a manager that is killed at any request leaves every step whole, and no litter") {
  int kills = 0;
  for (int at = 0;; ++at) {
    fake_s3 of;
    {
      auto manager = open_run(of, {.keep = zp::keep_policy::newest(2)});
      for (std::int64_t step = 1; step <= 2; ++step) save_step(manager, step, step).value();
    }
    // From one request on, nothing reaches the server: as after a kill.
    int left = at;
    bool is_dead = false;
    of->instead = [&](const std::string&) {
      zp::http_response out;
      is_dead = is_dead || left-- == 0;
      if (is_dead) out.status = 500;
      return out;
    };
    {
      auto opened = zp::checkpoint_manager::open(
          open_fake_s3(of, "run").places(),
          {.keep = zp::keep_policy::newest(2), .share_unchanged = at % 2 == 1});
      if (opened) static_cast<void>(save_step(*opened, 3, 3));
    }
    of->instead = {};
    kills += is_dead ? 1 : 0;
    auto manager = open_run(of, {.keep = zp::keep_policy::newest(2)});
    const list steps = manager.steps();
    CAPTURE(at);
    REQUIRE(steps.size() >= 2);
    for (const std::int64_t step : steps) REQUIRE(has_step(manager.restore(step), step, step));
    REQUIRE(std::count(steps.begin(), steps.end(), 2) == 1);
    for (const zp::step_record& one : manager.records()) REQUIRE(one.fault.empty());
    save_step(manager, 4, 4).value();
    REQUIRE(has_step(manager.restore_latest(), 4, 4));
    REQUIRE(manager.steps().size() == 2);
    for (const std::int64_t gone : {1, 2, 3}) {
      const list now = manager.steps();
      if (std::find(now.begin(), now.end(), gone) == now.end())
        REQUIRE(count_keys(of, "run/step_0000000" + std::to_string(gone) + "/") == 0);
    }
    if (!is_dead) break;
  }
  CHECK(kills > 30);
}

TEST_CASE("s3: what did not change is copied by the server, and no step harms another") {
  for (const bool copies : {true, false}) {
    fake_s3 of;
    of->rules.copies = copies;
    auto manager = open_run(of, {.keep = zp::keep_policy::newest(1), .share_unchanged = true});
    save_step(manager, 1, 1).value();
    of->received = 0;
    save_step(manager, 2, 2).value();
    const auto report = manager.last_report().value();
    CHECK(report.warnings.empty());
    CHECK(report.shared_bytes == (copies ? 20'000 : 0));
    CHECK((of->received < 40'000) == copies);
    CHECK(manager.steps() == list{2});
    CHECK(has_step(manager.restore_latest(), 2, 2));
    // Replaced by its like, which has a tree of its own.
    save_step(manager, 2, 20).value();
    CHECK(has_step(manager.restore_latest(), 2, 20));
  }
}

TEST_CASE("s3: one listing tells whether all objects of the newest step are there") {
  for (const auto kind : {bucket_kind::s3, bucket_kind::gcs, bucket_kind::gcs_xml}) {
    fake_s3 of;
    of->rules.kind = kind;
    auto manager = zp::checkpoint_manager::open(open_fake_place(of, false, "run").places()).value();
    std::vector<std::vector<float>> all(40, values(1));
    std::vector<zp::leaf> leaves;
    for (std::size_t i = 0; i < all.size(); ++i)
      leaves.emplace_back("w" + std::to_string(i), all[i]);
    manager.save(1, leaves).value();
    manager.save(2, leaves).value();
    manager.save_items(3, {{.name = "model", .leaves = leaves}}).value();
    manager.wait().value();
    for (const std::int64_t step : {3, 2}) {
      of->log.clear();
      CHECK(manager.latest().value() == step);
      CHECK(std::count_if(of->log.begin(), of->log.end(), [](const std::string& one) {
              return one.find("/w17/c") != std::string::npos;
            }) == 0);
      CHECK(of->log.size() < 30);  // and 40 objects
      if (step == 2) break;
      // One of them is cut, or gone.
      const auto keys = of.keys();
      const auto object = std::find_if(keys.begin(), keys.end(), [](const std::string& one) {
        return one.find("step_00000003/") != one.npos && one.find("/w17/c") != one.npos;
      });
      REQUIRE(object != keys.end());
      of->objects[*object].bytes.pop_back();
    }
    CHECK(manager.warnings().size() == 1);
    manager.close().value();
  }
}

TEST_CASE("s3: a manager of a group saves items in one place") {
  constexpr int ranks = 2;
  const fake_s3 of;
  const auto done =
      zp::thread_world::run(ranks, [&](const zp::thread_communicator& self) -> zp::result<void> {
        ZARRPOINT_TRY(manager, zp::group_checkpoint_manager::open(
                                   open_fake_s3(of, "run").places(), {.ranks = self},
                                   {.keep = zp::keep_policy::newest(2), .share_unchanged = true}));
        for (std::int64_t step = 1; step <= 3; ++step) {
          std::vector<float> w = values(step), same = values(1);
          const auto part = [&](const char* name, std::vector<float>& all) {
            return zp::shard(name, std::span<float>(all), {.offsets = {{0, self.rank(), ranks}}});
          };
          ZARRPOINT_TRY(a, part("w", w));
          ZARRPOINT_TRY(b, part("same", same));
          ZARRPOINT_CHECK(
              manager.save_items(step, {{.name = "model", .tree = zp::state{{"w", a}}},
                                        {.name = "other", .tree = zp::state{{"same", b}}},
                                        {.name = "x.json", .document = step}}));
          ZARRPOINT_CHECK(manager.wait());
        }
        return manager.close();
      });
  for (const auto& one : done) one.value();
  auto manager = open_run(of);
  CHECK(manager.steps() == list{2, 3});
  CHECK(count_keys(of, "run/step_00000001/") == 0);
  CHECK(manager.document(3, "x.json").value() == zp::json(3));
  for (const std::int64_t step : {2, 3}) {
    const auto model = manager.restore(step, "model").value();
    CHECK(model.data.load<std::vector<float>>("w").value() ==
          std::vector<float>(10'000, static_cast<float>(step)));
    CHECK(zp::verify(model.data).value().result() == zp::verdict::ok);
    CHECK(manager.restore(step, "other").value().data.load<std::vector<float>>("same").value() ==
          std::vector<float>(10'000, 1));
  }
  // The step knows the objects of all processes.
  CHECK(manager.latest().value() == 3);
  const auto keys = of.keys();
  const auto object = std::find_if(keys.begin(), keys.end(), [](const std::string& one) {
    return one.find("step_00000003/") != one.npos && one.ends_with("/model/w/c/1");
  });
  REQUIRE(object != keys.end());
  of->objects.erase(*object);
  CHECK(manager.latest().value() == 2);
}

TEST_CASE("s3: a manager of a group has its steps in one place") {
  constexpr int ranks = 2;
  const fake_s3 of;
  const auto done =
      zp::thread_world::run(ranks, [&](const zp::thread_communicator& self) -> zp::result<void> {
        const zp::process_group group{.ranks = self};
        ZARRPOINT_TRY(manager, zp::group_checkpoint_manager::open(
                                   open_fake_s3(of, "run").places(), group,
                                   {.keep = zp::keep_policy::newest(2), .share_unchanged = true}));
        for (std::int64_t step = 1; step <= 3; ++step) {
          std::vector<float> same(5000, 1), other(5000, static_cast<float>(step));
          const auto part = [&](const char* name, std::vector<float>& all) {
            return zp::shard(name, std::span<float>(all), {.offsets = {{0, self.rank(), ranks}}});
          };
          ZARRPOINT_TRY(a, part("same", same));
          ZARRPOINT_TRY(b, part("w", other));
          ZARRPOINT_CHECK(manager.save(step, zp::state{{"step", step}, {"a", a}, {"b", b}}));
          ZARRPOINT_CHECK(manager.wait());
        }
        return manager.close();
      });
  for (const auto& one : done) one.value();
  auto manager = open_run(of);
  CHECK(manager.steps() == list{2, 3});
  const auto newest = manager.restore_latest().value();
  CHECK(newest.data.load<std::vector<float>>("w").value() == std::vector<float>(10'000, 3));
  CHECK(newest.data.load<std::vector<float>>("same").value() == std::vector<float>(10'000, 1));
}

}  // namespace s3_manager_tests
