// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/all_codecs.hpp>
#include <zarrpoint/dcp_save.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/formats.hpp>
#include <zarrpoint/manager.hpp>
#include <zarrpoint/orbax.hpp>
#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/stores.hpp>
#include <zarrpoint/verify.hpp>

#include "support/child_process.hpp"
#include "support/executors.hpp"
#include "support/hierarchy_cases.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace manager_test {

using namespace zarrpoint;
using namespace std::chrono_literals;
namespace fs = std::filesystem;
using list = std::vector<std::int64_t>;
using test::names_in;

checkpoint_manager open_at(const location& where, manager_options options = {}) {
  return checkpoint_manager::open(where, std::move(options)).value();
}

/// Saves a step with one tensor that tells it.
result<bool> save_step(checkpoint_manager& by, std::int64_t step,
                       std::vector<step_metric> metrics = {}) {
  const std::vector<float> w(100, static_cast<float>(step));
  return by.save(step, {{"w", w}, {"step", step}}, std::move(metrics));
}

bool has_step(const result<restored_step>& of, std::int64_t step) {
  return of && of->step == step &&
         of->data.load<std::vector<float>>("w").value() ==
             std::vector<float>(100, static_cast<float>(step));
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& one : lines) out += one + '\n';
  return out;
}

TEST_CASE("manager: saves, keeps what was asked for, and finds it again after a restart") {
  const test::temp_directory folder;
  const std::string run = folder / "run";
  const keep_policy keep = keep_policy::newest(2) | keep_policy::best(1, "loss", better::lower);
  {
    auto manager = open_at(run, {.save_when = save_policy::every_steps(1000), .keep = keep});
    CHECK(manager.steps().empty());
    CHECK(manager.latest().value() == std::nullopt);
    CHECK(manager.restore_latest().failure().code == errc::not_found);
    for (std::int64_t step = 8000; step <= 12000; step += 500) {
      if (!manager.should_save(step)) continue;
      CHECK(step % 1000 == 0);
      CHECK(save_step(manager, step, {{"loss", step == 9000 ? 0.1 : 0.5}}).value());
      CHECK_FALSE(manager.should_save(step));
    }
    manager.wait().value();
    CHECK(manager.steps() == list{9000, 11000, 12000});
    manager.close().value();
    CHECK(save_step(manager, 1).failure().code == errc::invalid_argument);
  }
  CHECK(names_in(run) == std::vector<std::string>{".zarrpoint_manager", "step_00009000",
                                                  "step_00011000", "step_00012000"});
  // What it wrote is an ordinary checkpoint.
  CHECK(zarrpoint::open(run + "/step_00009000").value().load<std::int64_t>("step").value() == 9000);
  auto again = open_at(run, {.keep = keep});
  CHECK(again.steps() == list{9000, 11000, 12000});
  CHECK(has_step(again.restore_latest(), 12000));
  CHECK(has_step(again.restore_best("loss", better::lower), 9000));
  CHECK(again.restore_best("loss", better::lower).value().metrics ==
        std::vector<step_metric>{{"loss", 0.1}});
  CHECK(has_step(again.restore(11000), 11000));
  CHECK(again.restore(10000).failure().code == errc::not_found);
  // Not the oldest goes, and not the best: those that are neither.
  save_step(again, 13000, {{"loss", 0.3}}).value();
  save_step(again, 14000, {{"loss", 0.05}}).value();
  again.close().value();
  CHECK(again.steps() == list{13000, 14000});
  CHECK(joined(again.warnings()) == "");
}

TEST_CASE("manager: tensors of the host may change once save has returned") {
  const test::temp_directory folder;
  auto manager = open_at(folder / "run", {.most_under_way = 3});
  std::vector<float> w(1 << 16);
  std::vector<std::vector<double>> parts(3, std::vector<double>(1000));
  std::vector<std::string> words;
  for (std::int64_t step = 0; step < 6; ++step) {
    w.assign(w.size(), static_cast<float>(step));
    for (auto& part : parts) part.assign(part.size(), static_cast<double>(step));
    words.assign(5, "word " + std::to_string(step));
    manager
        .save(step, {{"w", w},
                     {"p/0", parts[0]},
                     {"p/1", std::span<const double>(parts[1]).subspan(0, 7)},
                     {"words", words},
                     {"text", "step"},
                     {"step", step}})
        .value();
    w.assign(w.size(), -1);
    for (auto& part : parts) part.assign(part.size(), -1);
    words.assign(5, "later");
  }
  manager.wait().value();
  for (std::int64_t step = 0; step < 6; ++step) {
    const checkpoint found = manager.restore(step).value().data;
    CHECK(found.load<std::vector<float>>("w").value() ==
          std::vector<float>(w.size(), static_cast<float>(step)));
    CHECK(found.load<std::vector<double>>("p/0").value()[999] == static_cast<double>(step));
    CHECK(found.load<std::vector<double>>("p/1").value() ==
          std::vector<double>(7, static_cast<double>(step)));
    CHECK(found.load<std::vector<std::string>>("words").value()[4] ==
          "word " + std::to_string(step));
    CHECK(found.typestr("text") == "string");
    CHECK(found.typestr("step") == "scalar");
    CHECK(found.attributes("w").value().is_null());
  }
  CHECK(manager.last_report()->leaves.size() == 6);
}

TEST_CASE("manager: at most so many are under way, and the next waits or is skipped") {
  for (const when_busy busy : {when_busy::wait, when_busy::skip}) {
    memory_store place;
    const testing::manual_executor held;  // nothing runs before somebody waits
    manager_options options{.most_under_way = 1, .busy = busy};
    options.how.executor = held;
    auto manager = open_at(location(place), options);
    CHECK(save_step(manager, 1).value());
    CHECK_FALSE(manager.should_save(1));
    if (busy == when_busy::skip) {
      CHECK_FALSE(save_step(manager, 2).value());
      CHECK(manager.steps().empty());
      held.run_all();
      CHECK(manager.steps() == list{1});
    } else {
      CHECK(save_step(manager, 2).value());  // which does the first one's work itself
      CHECK(manager.steps() == list{1});
    }
    CHECK(manager.should_save(3));
    manager.close().value();
  }
}

TEST_CASE("manager: an error in the background is that of the next call, and of close") {
  const test::temp_directory folder;
  const std::string run = folder / "run";
  auto manager = open_at(run, {.keep = keep_policy::newest(1)});
  save_step(manager, 1).value();
  manager.wait().value();
  // What others put there is in the way of step 2 and of step 3.
  const auto refuse = [](std::int64_t) { return error{errc::io, "the disk is full"}; };
  const auto failing = [&](std::int64_t step) {
    return manager.save(step, {leaf::refused("w", refuse(step))});
  };
  const auto begun = failing(2);
  const auto told = begun ? manager.wait() : result<void>(begun.failure());
  CHECK(to_string(told.failure()).find("the disk is full") != std::string::npos);
  CHECK(manager.wait());  // once
  CHECK(manager.steps() == list{1});
  CHECK(has_step(manager.restore_latest(), 1));
  CHECK(names_in(run).size() == 2);
  save_step(manager, 4).value();  // and it is usable
  manager.wait().value();
  CHECK(manager.steps() == list{4});
}

/// A store in whose background writes fail for as long as it is told.
struct full_store : zarrpoint_test::plain_store {
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const {
    if (*full) return error{errc::io, "write " + describe(key) + ": No space left on device"};
    return plain_store::create(key);
  }
  result<void> put(const store_key& key, bytes_view bytes) const {
    if (*full) return error{errc::io, "write " + describe(key) + ": No space left on device"};
    return plain_store::put(key, bytes);
  }
  std::shared_ptr<std::atomic<bool>> full = std::make_shared<std::atomic<bool>>(false);
};

TEST_CASE("manager: a full disk leaves the old steps whole and the manager usable") {
  full_store place;
  const std::vector<float> w(1000, 1);
  auto manager = open_at(location(any_store(place)), {.keep = keep_policy::newest(2)});
  for (std::int64_t step = 1; step <= 3; ++step) save_step(manager, step).value();
  manager.wait().value();
  CHECK(manager.steps() == list{2, 3});
  *place.full = true;
  std::string first;
  for (std::int64_t step = 4; step <= 6; ++step) {
    const auto begun = save_step(manager, step);
    const auto done = begun ? manager.wait() : result<void>(begun.failure());
    REQUIRE_FALSE(done);
    CHECK(done.failure().code == errc::io);
    if (first.empty()) first = done.failure().message;
  }
  CHECK(manager.steps() == list{2, 3});
  *place.full = false;
  CHECK(has_step(manager.restore_latest(), 3));
  save_step(manager, 7).value();
  manager.wait().value();
  CHECK(manager.steps() == list{3, 7});
}

TEST_CASE("manager: in a store that publishes nothing and erases key by key") {
  zarrpoint_test::plain_store place;
  const location where{any_store(place)};
  {
    auto manager = open_at(where, {.keep = keep_policy::newest(2)});
    for (std::int64_t step = 1; step <= 4; ++step) save_step(manager, step).value();
    manager.save_items(5, {{.name = "model", .leaves = {{"w", std::vector<float>(100, 5)}}}})
        .value();
    manager.close().value();
    CHECK(manager.steps() == list{4, 5});
    CHECK(place.list(store_key::root()).value().size() == 3);
  }
  // One that a crash left half written, and one half erased: both have the note.
  const auto put = [&](const char* key, std::string_view text) {
    place.put(store_key::parse(key).value(), as_bytes(text)).value();
  };
  put(".zarrpoint_manager/begun_step_00000006", "");
  put("step_00000006/w/c/0", "half");
  put(".zarrpoint_manager/begun_step_00000004", "");  // whole: it only had its note left
  put("step_00000007/w/c/0", "nobody's");
  put(".zarrpoint_manager/begun_notes", "");
  put("notes/x", "mine");
  auto manager = open_at(where);
  CHECK(manager.steps() == list{4, 5});
  CHECK(place.list(store_key::parse("step_00000006").value()).value().empty());
  CHECK(place.list(store_key::parse("step_00000007").value()).value().size() == 1);
  CHECK(place.list(store_key::parse("notes").value()).value().size() == 1);
  CHECK(has_step(manager.restore(4), 4));
  CHECK(has_step(manager.restore_latest(), 5));
  save_step(manager, 6).value();
  save_step(manager, 4).value();  // replaced
  manager.wait().value();
  CHECK(has_step(manager.restore(6), 6));
}

/// One place for one checkpoint, as S3 has it.
struct root_only_store : zarrpoint_test::plain_store {
  result<std::unique_ptr<publication>> stage(const store_key& key, const publish_options&) const {
    return error{errc::unsupported, "publish " + describe(key)};
  }
};

TEST_CASE("manager: a store that publishes at its root alone is refused") {
  const auto refused = checkpoint_manager::open(location(any_store(root_only_store())));
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::unsupported);
  CHECK(refused.failure().message.find("steps lie beneath") != std::string::npos);
}

TEST_CASE("manager: what was begun is erased only where it is known not to be whole") {
  zarrpoint_test::plain_store place;
  const location where{any_store(place)};
  const auto put = [&](const char* key, std::string_view text) {
    place.put(store_key::parse(key).value(), as_bytes(text)).value();
  };
  {
    auto manager = open_at(where);
    save_step(manager, 1).value();
    manager.close().value();
  }
  // The note of a step that is whole, and that a disk does not let anybody look at.
  put(".zarrpoint_manager/begun_step_00000001", "");
  {
    manager_options little;
    little.how.limit.metadata_bytes = 64;
    auto manager = open_at(where, little);
    CHECK(manager.steps().empty());
    CHECK(joined(manager.warnings()).find("whether it is whole") != std::string::npos);
  }
  {
    auto manager = open_at(where);
    CHECK(has_step(manager.restore_latest(), 1));
  }
  // A save that failed in this run leaves the note, too: the step can be saved again.
  auto manager = open_at(where);
  put(".zarrpoint_manager/begun_step_00000002", "");
  put("step_00000002/w/c/0", "half");
  save_step(manager, 2).value();
  manager.wait().value();
  CHECK(has_step(manager.restore_latest(), 2));
}

TEST_CASE("manager: one that is destroyed finishes what is under way") {
  memory_store place;
  const testing::manual_executor held;  // nothing runs before somebody waits
  manager_options options{.keep = keep_policy::newest(2), .most_under_way = 4};
  options.how.executor = held;
  {
    auto manager = open_at(location(place), options);
    for (std::int64_t step = 1; step <= 4; ++step) save_step(manager, step).value();
    CHECK(manager.steps().empty());
  }
  CHECK(open_at(location(place)).steps() == list{3, 4});
}

TEST_CASE("manager: no policy removes a step that is being saved again") {
  memory_store place;
  const testing::manual_executor held;
  manager_options options;
  options.how.executor = held;
  auto manager = open_at(location(place), options);
  for (const std::int64_t step : {1, 2}) {
    save_step(manager, step).value();
    manager.wait().value();
  }
  save_step(manager, 1).value();
  CHECK(manager.prune(keep_policy::newest(1)).value().empty());
  CHECK(manager.remove(1, true).failure().code == errc::invalid_argument);
  manager.wait().value();
  CHECK(manager.steps() == list{1, 2});
  manager.remove(1).value();
}

/// A store that tells of each step that it erases, before that.
struct telling_store : zarrpoint_test::plain_store {
  result<bool> erase_all(const store_key& at) const {
    (*erases)(std::string(at.str()));
    return of.erase_all(at);
  }
  std::shared_ptr<std::function<void(const std::string&)>> erases =
      std::make_shared<std::function<void(const std::string&)>>([](const std::string&) {});
};

TEST_CASE("manager: a save does not wait until old steps are removed") {
  telling_store place;
  std::vector<std::string> erased;
  *place.erases = [&](const std::string& step) { erased.push_back(step); };
  const testing::manual_executor later;
  manager_options options{.keep = keep_policy::newest(1)};
  options.how.executor = later;
  auto manager = open_at(location(any_store(place)), options);
  // Nobody but the caller is at work: each save does what the one before has left to do.
  for (std::int64_t step = 1; step <= 4; ++step) {
    save_step(manager, step).value();
    CHECK(erased.empty());
    CHECK(manager.should_save(step + 1));
  }
  CHECK(manager.steps() == list{1, 2, 3});
  manager.wait().value();
  CHECK(erased == std::vector<std::string>{"step_00000001", "step_00000002", "step_00000003"});
  CHECK(manager.steps() == list{4});
  manager.close().value();
}

TEST_CASE("manager: a step is saved again while another one is being removed") {
  telling_store place;
  const thread_pool pool(2);
  manager_options options{.keep = keep_policy::newest(2)};
  options.how.executor = pool.executor();
  std::promise<void> begun, is_saved;
  std::atomic<bool> has_waited{false};
  *place.erases = [&](const std::string& step) {
    if (step != "step_00000001") return;
    begun.set_value();
    // A save that waits for this removal would wait for ever; the test fails then.
    has_waited = is_saved.get_future().wait_for(20s) != std::future_status::ready;
  };
  auto manager = open_at(location(any_store(place)), options);
  for (std::int64_t step = 1; step <= 3; ++step) save_step(manager, step).value();
  begun.get_future().wait();
  // The removal may begin before the task of the third save has ended.
  auto saved = save_step(manager, 3);
  for (; !saved && saved.failure().code == errc::already_exists; saved = save_step(manager, 3))
    std::this_thread::sleep_for(1ms);
  saved.value();
  is_saved.set_value();
  manager.wait().value();
  CHECK_FALSE(has_waited);
  CHECK(manager.steps() == list{2, 3});
  CHECK(has_step(manager.restore_latest(), 3));
  manager.close().value();
}

TEST_CASE("manager: a removal that failed half way is finished with the next save") {
  telling_store place;
  manager_options options{.keep = keep_policy::newest(1)};
  auto manager = open_at(location(any_store(place)), options);
  save_step(manager, 1).value();
  *place.erases = [](const std::string&) { throw std::bad_alloc(); };
  save_step(manager, 2).value();
  CHECK(manager.wait().failure().code == errc::resource_limit);
  // What made it a step is gone, the rest is not.
  CHECK(manager.steps() == list{1, 2});
  *place.erases = [](const std::string&) {};
  save_step(manager, 3).value();
  manager.wait().value();
  CHECK(manager.steps() == list{3});
  CHECK(place.of.list(store_key::parse("step_00000001").value()).value().empty());
  // What others put in the place of a rest stays, and so does what has the name of a step alone.
  *place.erases = [](const std::string&) { throw std::bad_alloc(); };
  save_step(manager, 4).value();
  CHECK_FALSE(manager.wait());
  *place.erases = [](const std::string&) {};
  for (const auto& one : place.of.list(store_key::parse("step_00000003").value()).value())
    place.of.erase_all(store_key::parse("step_00000003/" + one.name).value()).value();
  group::create(place, store_key::parse("step_00000003").value()).value();
  save_step(manager, 5).value();
  manager.wait().value();
  CHECK(manager.steps() == list{3, 5});
  CHECK(group::open(place, store_key::parse("step_00000003").value()));
  place.of.erase_all(store_key::parse("step_00000003").value()).value();
  manager.refresh().value();
  place.of.put(store_key::parse("step_00000002/mine").value(), as_bytes("kept")).value();
  CHECK(manager.remove(2).failure().code == errc::not_found);
  CHECK_FALSE(manager.close());  // tells the first error again
  CHECK(open_at(location(any_store(place)), options).steps() == list{5});
  CHECK(place.of.list(store_key::parse("step_00000002").value()).value().size() == 1);
}

TEST_CASE("manager: two on one place are noticed") {
  const test::temp_directory folder;
  const std::string run = folder / "run";
  auto first = open_at(run);
  const auto second = checkpoint_manager::open(run);
  REQUIRE_FALSE(second);
  CHECK(second.failure().code == errc::unavailable);
  CHECK(second.failure().message.find(std::to_string(::getpid())) != std::string::npos);
  save_step(first, 1).value();
  first.wait().value();
  auto looking = open_at(run, {.exclusive = false});  // who only looks may
  CHECK(has_step(looking.restore_latest(), 1));
  CHECK(save_step(looking, 2).failure().code == errc::invalid_argument);
  CHECK(looking.prune().has_value());  // nothing goes
  save_step(first, 2).value();
  first.close().value();
  CHECK(looking.steps() == list{1});
  looking.refresh().value();
  CHECK(looking.steps() == list{1, 2});
  CHECK(looking.prune(keep_policy::newest(1)).failure().code == errc::invalid_argument);
  CHECK(looking.remove(1).failure().code == errc::invalid_argument);
  CHECK(checkpoint_manager::open(run).has_value());
  // Where there is no lock: the earlier one finds out before it saves or removes.
  memory_store place;
  auto earlier = open_at(location(place));
  save_step(earlier, 1).value();
  earlier.wait().value();
  auto later = open_at(location(place));
  CHECK(save_step(earlier, 2).failure().code == errc::unavailable);
  CHECK(earlier.remove(1, true).failure().code == errc::unavailable);
  save_step(later, 2).value();
  later.close().value();
}

TEST_CASE("manager: what no manager wrote is never removed, whatever its name is") {
  const test::temp_directory folder;
  const std::string run = folder / "run";
  save(run + "_other", {{"w", std::vector<float>(100, 3)}}).value();
  {
    auto manager = open_at(run);
    save_step(manager, 1).value();
    save_step(manager, 2).value();
    manager.close().value();
  }
  save(run + "/step_00000003", {{"w", std::vector<float>(100, 3)}}).value();  // of the program
  fs::create_directories(run + "/step_4/notes");
  test::write_file(run + "/step_5", "a file");
  test::write_file(run + "/results.txt", "mine");
  fs::copy(run + "/step_00000001", run + "/step_6", fs::copy_options::recursive);  // another number
  fs::create_directory_symlink(run + "_other", run + "/step_00000007");
  fs::create_directory_symlink(run + "/step_00000001", run + "/step_00000008");
  fs::create_directory_symlink("/nowhere", run + "/step_9");
  auto manager = open_at(run, {.keep = keep_policy::newest(0)});
  for (const step_record& one : manager.records()) {
    CAPTURE(one.step);
    CHECK(one.is_managed == (one.step <= 2));
  }
  CHECK(manager.steps() == list{1, 2, 3, 6});
  CHECK(manager.prune().value().size() == 1);  // step 1; 2 is the newest of a manager
  for (const std::int64_t step : {3, 4, 6})
    CHECK(manager.remove(step, true).failure().code == errc::invalid_argument);
  for (const std::int64_t step : {5, 7, 8, 9})  // neither files nor links are steps
    CHECK(manager.remove(step, true).failure().code == errc::not_found);
  CHECK(save_step(manager, 3).failure().code == errc::already_exists);
  save_step(manager, 10).value();
  manager.close().value();
  CHECK(names_in(run) == std::vector<std::string>{".zarrpoint_manager", "results.txt",
                                                  "step_00000003", "step_00000007", "step_00000008",
                                                  "step_00000010", "step_4", "step_5", "step_6",
                                                  "step_9"});
  CHECK(fs::exists(run + "_other/zarr.json"));
}

TEST_CASE("manager: latest passes over what is damaged or half copied, and says so") {
  const test::temp_directory folder;
  const std::string run = folder / "run";
  {
    auto manager = open_at(run);
    for (std::int64_t step = 1; step <= 6; ++step) save_step(manager, step).value();
    manager.close().value();
  }
  const auto at = [&](int step) { return run + "/step_0000000" + std::to_string(step); };
  fs::remove(at(6) + "/zarr.json");                       // not copied to the end
  fs::remove_all(at(5) + "/w");                           // an array is not there
  fs::resize_file(at(4) + "/w/c.0", 100);                 // cut off
  test::write_file(at(3) + "/zarr.json", "{\"zarr_for");  // damaged
  auto manager = open_at(run, {.keep = keep_policy::newest(1)});
  CHECK(has_step(manager.restore_latest(), 2));
  const std::string told = joined(manager.warnings());
  for (const char* what : {"step 6 was passed over", "step 5 was passed over",
                           "step 4 was passed over", "step 3 was passed over"})
    CHECK_MESSAGE(told.find(what) != std::string::npos, told);
  CHECK(manager.steps() == list{1, 2});
  // They do not count as the newest, so that no whole one goes for them; nor do they go.
  save_step(manager, 7).value();
  manager.wait().value();
  CHECK(manager.steps() == list{7});
  // The run comes to these steps again.
  for (std::int64_t step = 3; step <= 6; ++step) save_step(manager, step).value();
  manager.wait().value();
  CHECK(has_step(manager.restore(6), 6));
  std::size_t aside = 0;
  for (const std::string& name : names_in(run)) aside += name.starts_with("damaged_step_");
  CHECK(aside == 2);  // 3 and 6; of the others the mark tells that a manager wrote them
  CHECK(joined(manager.warnings()).find("is not whole") != std::string::npos);
}

TEST_CASE("manager: files of a removed step that stay are told by an error, and it is gone") {
  const test::temp_directory folder;
  const std::string run = folder / "run";
  fs::permissions(folder.path(), fs::perms(0777));
  const auto as_nobody = [&](auto&& work) {
    return test::in_child([&] {
      if (::setuid(65534) != 0) return std::string("skipped");
      manager_options options{.background = false};
      options.how.executor = inline_executor();
      auto manager = open_at(run, options);
      return work(manager);
    });
  };
  const std::string begun = as_nobody([](checkpoint_manager& manager) {
    for (const std::int64_t step : {1, 2}) save_step(manager, step).value();
    return std::string();
  });
  // A directory of somebody else.
  if (!begun.empty() || ::chown((run + "/step_00000001/w").c_str(), 0, 0) != 0) {
    MESSAGE("skipped: only root can make a directory that another may not remove");
    return;
  }
  const std::string said = as_nobody([](checkpoint_manager& manager) {
    const auto removed = manager.remove(1);
    if (removed || manager.steps() != list{2}) return std::string("it was removed, or is there");
    return to_string(removed.failure());
  });
  for (const char* what : {"io: ", "step_00000001, whose name is .step_"})
    CHECK_MESSAGE(said.find(what) != std::string::npos, said);
}

TEST_CASE("manager: a policy and a clock of one's own may ask the manager") {
  memory_store place;
  std::atomic<checkpoint_manager*> asked{nullptr};
  std::atomic<std::size_t> most{0};
  const auto ask = [&] {
    if (const auto* const at = asked.load()) most = std::max(most.load(), at->records().size());
  };
  manager_options options;
  options.keep = keep_policy([&](const keep_question& of) {
    ask();
    return std::vector<bool>(of.steps.size(), false);
  });
  options.clock = [&] {
    ask();
    return wall_time();
  };
  auto manager = open_at(location(place), options);
  asked = &manager;
  for (const std::int64_t step : {1, 2}) save_step(manager, step).value();
  manager.wait().value();
  CHECK(manager.steps() == list{2});
  CHECK(manager.dry_run().empty());
  CHECK(most == 2);
}

TEST_CASE("manager: a new step is verified before an older one goes, if asked") {
  const test::temp_directory folder;
  const std::string run = folder / "run";
  auto manager = open_at(run, {.keep = keep_policy::newest(1), .verify = true});
  save_step(manager, 1).value();
  save_step(manager, 2).value();
  manager.wait().value();
  CHECK(manager.steps() == list{2});
  manager.close().value();
  // A store that loses what it was given.
  struct losing_store : zarrpoint_test::plain_store {
    result<std::unique_ptr<blob>> open(const store_key& key) const {
      if (*lost && key.str().find("/c.0") != std::string_view::npos) return std::unique_ptr<blob>();
      return plain_store::open(key);
    }
    std::shared_ptr<std::atomic<bool>> lost = std::make_shared<std::atomic<bool>>(false);
  };
  losing_store place;
  auto careful =
      open_at(location(any_store(place)), {.keep = keep_policy::newest(1), .verify = true});
  save_step(careful, 1).value();
  careful.wait().value();
  *place.lost = true;
  const auto begun = save_step(careful, 2);
  const auto told = begun ? careful.wait() : result<void>(begun.failure());
  CHECK(told.failure().code == errc::corrupt);
  CHECK(careful.steps() == list{1});
  CHECK(careful.close().failure().code == errc::corrupt);
  *place.lost = false;
  CHECK(has_step(careful.restore(1), 1));
}

TEST_CASE("manager: items are committed together and load alone, by formats of their own") {
  const test::temp_directory folder;
  const std::string run = folder / "run";
  manager_options options{.keep = keep_policy::newest(2)};
  options.how.stores = all_formats();
  auto manager = open_at(run, options);
  const std::vector<float> w(100, 7), m(10, 1);
  json settings;
  settings.set("seed", 7);
  for (std::int64_t step = 5; step <= 7; ++step)
    manager
        .save_items(step,
                    {{.name = "model", .leaves = {{"w", w}}},
                     {.name = "orbax",
                      .leaves = {{"w", w}},
                      .options = save_options{.format = orbax::format{}}},
                     {.name = "dcp",
                      .leaves = {{"w", w}},
                      .options = save_options{.format = dcp::format{}}},
                     {.name = "m.safetensors",
                      .leaves = {{"w", w}},
                      .options = save_options{.format = safetensors::format{}}},
                     {.name = "optimizer",
                      .leaves = {{"m", m}},
                      .options = save_options{.rules = {{.codecs = zstd_codecs()}}}},
                     {.name = "settings.json", .document = settings}},
                    {{"loss", 0.5}})
        .value();
  manager.wait().value();
  for (const char* item : {"model", "orbax", "dcp", "m.safetensors"}) {
    CAPTURE(item);
    CHECK(has_step(manager.restore(7, item), 7));
    CHECK(has_step(manager.restore_latest(item), 7));
  }
  CHECK(manager.restore(7, "optimizer").value().data.load<std::vector<float>>("m").value() == m);
  CHECK(manager.document(7, "settings.json").value() == settings);
  CHECK(manager.restore(7).failure().code == errc::invalid_argument);  // which one?
  CHECK(manager.restore(7, "nothing").failure().code == errc::not_found);
  CHECK(manager.steps() == list{6, 7});
  manager.close().value();
  auto again = open_at(run, options);
  CHECK(again.steps() == list{6, 7});
  CHECK(again.records()[1].items.size() == 6);
  CHECK(again.best("loss", better::lower).value() == 7);
  // An item that is cut off makes the step one that is passed over.
  fs::resize_file(run + "/step_00000007/m.safetensors", 20);
  CHECK(again.latest().value() == 6);
  fs::remove(run + "/step_00000006/zarrpoint_step.json");
  CHECK(again.latest().value() == std::nullopt);
  CHECK(again.remove(6, true).failure().code == errc::invalid_argument);
  for (const char* bad : {"", "a/b", "..", "zarrpoint_step.json"})
    CHECK(again.save_items(8, {{.name = bad, .leaves = {{"w", w}}}}).failure().code ==
          errc::invalid_argument);
  CHECK_FALSE(again.save_items(8, {}));
  CHECK_FALSE(again.save_items(8, {{.name = "a"}, {.name = "a"}}));
}

TEST_CASE("manager: a format of its own for all, and names as Orbax's managers have them") {
  const test::temp_directory folder;
  const std::string run = folder / "run";
  manager_options options{.keep = keep_policy::newest(1), .prefix = "", .digits = 0};
  options.storage.format = orbax::format{};
  options.how.stores = all_formats();
  auto manager = open_at(run, options);
  for (std::int64_t step : {9, 10}) save_step(manager, step).value();
  manager.close().value();
  CHECK(names_in(run) == std::vector<std::string>{".zarrpoint_manager", "10"});
  CHECK(fs::exists(run + "/10/default"));
  CHECK(zarrpoint::open(run + "/10/default", all_formats()).value().contains("w"));
  auto again = open_at(run, options);
  CHECK(has_step(again.restore_latest(), 10));
  CHECK(checkpoint_manager::open(folder / "x", {.prefix = "epoch_"}).failure().code ==
        errc::invalid_argument);
}

TEST_CASE("manager: pinned steps stay, by another manager too, and after a restart") {
  const test::temp_directory folder;
  const std::string run = folder / "run";
  auto manager = open_at(run, {.keep = keep_policy::newest(1)});
  save_step(manager, 1).value();
  manager.wait().value();
  open_at(run, {.exclusive = false}).pin(1).value();
  save_step(manager, 2).value();
  save_step(manager, 3).value();
  manager.wait().value();
  CHECK(manager.steps() == list{1, 3});
  CHECK(manager.remove(1).failure().code == errc::invalid_argument);
  CHECK(manager.remove(3).failure().code == errc::invalid_argument);  // the newest
  manager.close().value();
  auto again = open_at(run, {.keep = keep_policy::newest(1)});
  CHECK(again.prune().value().empty());
  CHECK(again.records()[0].is_pinned);
  again.pin(1, false).value();
  const auto shown = again.dry_run();
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].name == "step_00000001");
  CHECK(again.steps() == list{1, 3});  // only shown
  CHECK(again.prune().value().size() == 1);
  CHECK(again.steps() == list{3});
  CHECK(again.pin(8).failure().code == errc::not_found);
  again.remove(3, true).value();
  CHECK(again.steps().empty());
}

checkpoint_manager* running = nullptr;

TEST_CASE("manager: a signal asks for a save") {
  memory_store place;
  auto manager = open_at(location(place), {.save_when = save_policy::never()});
  running = &manager;
  const auto before = std::signal(SIGUSR1, [](int) { running->request_save(); });
  CHECK_FALSE(manager.should_save(3));
  std::raise(SIGUSR1);
  std::signal(SIGUSR1, before);
  CHECK(manager.save_requested());
  CHECK(manager.should_save(3));
  save_step(manager, 3).value();
  CHECK_FALSE(manager.save_requested());
  CHECK_FALSE(manager.should_save(4));
  // One that comes while a save begins is for the next.
  manager.request_save();
  save_step(manager, 4).value();
  CHECK(manager.should_save(5));
  running = nullptr;
}

TEST_CASE("manager: time is the caller's") {
  memory_store place;
  auto now = std::make_shared<wall_time>(1000h);
  const manager_options options{.save_when = save_policy::every(10min),
                                .keep = keep_policy::within(1h),
                                .clock = [now] { return *now; }};
  list saved;
  for (int run = 0; run < 2; ++run) {
    auto manager = open_at(location(place), options);
    for (int i = 0; i < 60; ++i) {
      const std::int64_t step = run * 60 + i;
      *now += 3min;
      if (!manager.should_save(step)) continue;
      saved.push_back(step);
      save_step(manager, step).value();
      manager.wait().value();
    }
    for (const step_record& one : manager.records()) CHECK(*now - one.saved_at <= 1h + 10min);
  }
  CHECK(saved[0] == 3);
  for (std::size_t i = 1; i < saved.size(); ++i) CHECK(saved[i] - saved[i - 1] == 4);
}

TEST_CASE("manager: what is not a state of its own is refused or passed over") {
  const test::temp_directory folder;
  const std::string run = folder / "run";
  {
    auto manager = open_at(run);
    save_step(manager, 1).value();
    manager.save_items(2, {{.name = "m", .leaves = {{"w", std::vector<float>(100, 2)}}}}).value();
    manager.close().value();
  }
  const std::string mark = run + "/step_00000002/zarrpoint_step.json";
  const std::string good = test::read_file(mark);
  const std::string deep(100'000, '[');
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("7"), deep,
        std::string("{\"version\": 1e999}"), std::string("{\"version\": 99999999999999999999999}"),
        good.substr(0, good.size() / 2), good + good}) {
    test::write_file(mark, text);
    auto manager = open_at(run, {.keep = keep_policy::newest(0)});
    CHECK(manager.steps() == list{1});
    CHECK(has_step(manager.restore_latest(), 1));
    CHECK(manager.prune().value().empty());
  }
  // Each byte of the mark changed: never another step, never removed in error.
  for (std::size_t i = 0; i < good.size(); i += 7) {
    std::string text = good;
    text[i] = static_cast<char>(text[i] ^ 0x15);
    test::write_file(mark, text);
    auto manager = open_at(run, {.exclusive = false});
    for (const step_record& one : manager.records())
      if (one.step == 2 && one.fault.empty()) CHECK(one.items == std::vector<std::string>{"m"});
  }
  test::write_file(mark, good);
  fs::remove(mark);
  fs::create_symlink("/etc/passwd", mark);
  CHECK(open_at(run, {.exclusive = false}).steps() == list{1});
  // Links in place of the manager's own folder, and of the lock.
  fs::remove_all(run + "/.zarrpoint_manager");
  fs::create_directory_symlink(folder / "elsewhere", run + "/.zarrpoint_manager");
  CHECK_FALSE(checkpoint_manager::open(run));
  fs::remove(run + "/.zarrpoint_manager");
  fs::create_directory(run + "/.zarrpoint_manager");
  fs::create_symlink(folder / "elsewhere", run + "/.zarrpoint_manager/lock");
  CHECK_FALSE(checkpoint_manager::open(run));
  CHECK_FALSE(fs::exists(folder / "elsewhere"));
  CHECK(checkpoint_manager::open("").failure().code == errc::invalid_argument);
  CHECK_FALSE(checkpoint_manager::open(folder / "a.zip"));
}

TEST_CASE("manager: steps below 0 and metrics that are there twice are refused") {
  memory_store place;
  auto manager = open_at(location(place));
  CHECK(save_step(manager, -1).failure().code == errc::invalid_argument);
  CHECK(save_step(manager, 1, {{"a", 1}, {"a", 2}}).failure().code == errc::invalid_argument);
  CHECK(save_step(manager, INT64_MAX).value());
  manager.wait().value();
  CHECK(manager.latest().value() == INT64_MAX);
}

TEST_CASE("manager: nothing that a killed save left is there after the next start") {
  const test::temp_directory folder;
  const std::string run = folder / "run";
  CHECK(test::in_child([&] {
          auto manager = open_at(run);
          save_step(manager, 1).value();
          manager.wait().value();
          // Half of a step, as a save that was killed leaves it: never destroyed.
          const auto store = std::make_shared<any_store>(file_store::open(run).value());
          auto* const half =
              store->stage(store_key::parse("step_00000002").value(), {}).value().release();
          half->store().put(store_key::parse("w").value(), {}).value();
          return std::string(names_in(run).size() == 3 ? "left" : "nothing was left");
        }) == "left");
  CHECK(names_in(run).size() == 3);
  auto manager = open_at(run);
  CHECK(names_in(run).size() == 2);
  CHECK(has_step(manager.restore_latest(), 1));
}

}  // namespace manager_test
