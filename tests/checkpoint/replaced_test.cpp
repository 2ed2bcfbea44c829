// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/load/load_all.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/checkpoint/verify/verify.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/file/path_watch.hpp>
#include <zarrpoint/store/file/publish_directory.hpp>

#include "../support/child_process.hpp"
#include "../support/hooked_publisher.hpp"
#include "../support/open_files.hpp"
#include "../support/random_rounds.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

// Readers and savers of one path at the same time, and what savers leave that are killed.

namespace replaced_test {

using namespace zarrpoint;
namespace fs = std::filesystem;
using test::names_in;

namespace {

constexpr std::size_t leaf_count = 4;

/// The threads of the default one are not there in a child process.
const context alone{};

std::vector<float> values_of(int n) { return std::vector<float>(3000, static_cast<float>(n)); }

/// A checkpoint all of whose elements are `n`.
result<save_report> save_number(const location& where, int n, const save_options& options) {
  const std::vector<float> values = values_of(n);
  std::vector<leaf> leaves;
  for (std::size_t i = 0; i < leaf_count; ++i)
    leaves.emplace_back("layer/" + std::to_string(i), values);
  return save(where, leaves, options, alone);
}

/// What a reader saw that it must not see; empty when all of one checkpoint or `replaced`.
std::string misread(const location& where) {
  const auto opened = open(where, alone);
  if (!opened) return to_string(opened.failure());
  std::vector<float> first;
  for (std::size_t i = 0; i < leaf_count; ++i) {
    const auto loaded = opened->load<std::vector<float>>("layer/" + std::to_string(i));
    if (!loaded && loaded.failure().code == errc::replaced) return {};
    if (!loaded) return to_string(loaded.failure());
    if (i == 0) first = values_of(static_cast<int>(loaded->at(0)));
    if (*loaded != first) return "a mix";
  }
  return {};
}

/// Readers at work while a checkpoint is overwritten so many times. What the first misread said.
std::string race(const location& where, int rounds, const save_options& options) {
  std::atomic<bool> is_done{false};
  std::atomic<std::size_t> reads{0};
  std::vector<std::string> said(3);
  std::vector<std::thread> readers;
  for (std::string& mine : said) {
    readers.emplace_back([&] {
      while (!is_done && mine.empty()) {
        mine = misread(where);
        ++reads;
      }
    });
  }
  std::string failed;
  for (int n = 1; failed.empty() && (n <= rounds || reads < 50); ++n) {
    const auto saved = save_number(where, n, options);
    if (!saved) failed = to_string(saved.failure());
    if (saved && !saved->warnings.empty()) failed = saved->warnings[0];
  }
  is_done = true;
  for (std::thread& one : readers) one.join();
  for (const std::string& mine : said)
    if (!mine.empty()) return mine;
  return failed;
}

bool has_locks(const test::temp_directory& dir) {
  const detail::unique_fd fd(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return detail::has_true_locks(fd.get());
}

/// Saves in a child process that is killed, by `at_work` or before the commit.
void save_and_die(const test::temp_directory& dir, const char* name) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const test::hooked_publisher store{
        file_store::open(dir.path().string()).value(),
        {.after_stage = [] {}, .before_commit = [] { ::kill(::getpid(), SIGKILL); }}};
    static_cast<void>(save_number({store, store_key::parse(name).value()}, 1, {.sync = false}));
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
}

}  // namespace

TEST_CASE("replaced: readers of a path that always exists find a whole checkpoint, or `replaced`") {
  for (const int zarr_format : {3, 2}) {
    const test::temp_directory dir;
    const save_options options{.zarr_format = zarr_format, .sync = false};
    save_number(dir / "m", 0, options).value();
    CHECK(race(dir / "m", zarrpoint_test::random_rounds(300), options) == "");
    CHECK(race("file://" + (dir / "m"), zarrpoint_test::random_rounds(50), options) == "");
    const any_store parent = file_store::open(dir.path().string()).value();
    CHECK(race({parent, store_key::parse("m").value()}, zarrpoint_test::random_rounds(100),
               options) == "");
    CHECK(misread(dir / "m") == "");
    CHECK(names_in(dir.path()) == std::vector<std::string>{"m"});
  }
}

#if !defined(ZARRPOINT_TEST_SANITIZED)  // ThreadSanitizer has no threads after a fork
TEST_CASE("replaced: where names cannot be exchanged, `open` waits for the second rename") {
  const test::temp_directory dir;
  const auto once = [&] {
    return test::in_child([&] {
      if (!test::deny(SYS_renameat2, EINVAL)) return std::string("skipped");
      if (!save_number(dir / "m", 0, {.sync = false})) return std::string("not saved");
      detail::path_watch watch;
      if (::rename((dir / "m").c_str(), (dir / "aside").c_str()) != 0) return std::string("?");
      std::thread other([&] {
        detail::wait_a_moment();
        ::rename((dir / "aside").c_str(), (dir / "m").c_str());
      });
      bool is_found = false;
      while (!is_found && watch.look_again(dir / "m"))
        is_found = static_cast<bool>(open(dir / "m", alone));
      other.join();
      if (!is_found) return std::string("not found");
      for (int n = 1; n < 20; ++n)
        if (!save_number(dir / "m", n, {.sync = false})) return std::string("not replaced");
      return misread(dir / "m");
    });
  };
  // A busy machine may keep the other thread from its turn for longer than `open` looks.
  std::string said = once();
  for (int n = 0; n < 9 && said == "not found"; ++n) said = once();
  CHECK((said == "" || said == "skipped"));
}
#endif

TEST_CASE("replaced: what does not exist is not found, after few looks") {
  const test::temp_directory dir;
  CHECK(open(dir / "none").failure().code == errc::not_found);
  fs::create_directory(dir / "empty");
  CHECK(open(dir / "empty").failure().code == errc::not_found);
  detail::path_watch watch;
  CHECK(watch.look_again(dir / "empty"));
  CHECK_FALSE(watch.look_again(dir / "empty"));  // it is the one that was looked at
  fs::rename(dir / "empty", dir / "other");
  fs::create_directory(dir / "empty");
  CHECK(watch.look_again(dir / "empty"));
}

TEST_CASE("replaced: an open handle says so, with both ids, whatever reads") {
  const test::temp_directory dir;
  const std::string path = dir / "m";
  save_number(path, 1, {.sync = false}).value();
  const any_store parent = file_store::open(dir.path().string()).value();
  int n = 1;
  for (const location& where : {location(path), location(parent, store_key::parse("m").value())}) {
    const checkpoint old = open(where).value();
    const array early = old.as_array("layer/1").value();
    const std::string id = save_number(path, ++n, {.sync = false}).value().id;
    const auto is_replaced = [&](const error& failure) {
      CAPTURE(failure.message);
      CHECK(failure.code == errc::replaced);
      CHECK(failure.message.find("a save has replaced checkpoint " + old.id() + " by " + id +
                                 " since it was opened: open it again") != std::string::npos);
    };
    is_replaced(old.load<std::vector<float>>("layer/0").failure());
    std::vector<float> into(3000);
    is_replaced(old.load_into("layer/0", into).failure());
    is_replaced(old.view<float>("layer/0", true).failure());
    is_replaced(early.read(box::whole(early.spec().shape)).failure());
    is_replaced(old.load_async<std::vector<float>>("layer/3").get().failure());
    is_replaced(verify(old).failure());
    CHECK(misread(path) == "");
  }
}

TEST_CASE("replaced: damage stays damage, and what is gone stays missing") {
  const test::temp_directory dir;
  const std::string path = dir / "m";
  save_number(path, 1, {.sync = false}).value();
  const checkpoint opened = open(path).value();
  fs::remove(path + "/layer/0/c.0");
  CHECK(opened.load<std::vector<float>>("layer/0").failure().code == errc::corrupt);
  CHECK(opened.load<int>("layer/1").failure().code == errc::dtype_mismatch);
  fs::remove_all(path);
  CHECK(opened.load<std::vector<float>>("layer/1").failure().code == errc::corrupt);
}

TEST_CASE("replaced: a checkpoint that is held stays readable while its path is overwritten") {
  const test::temp_directory dir;
  if (!has_locks(dir)) return;
  const std::size_t before = test::open_files();
  save_number(dir / "m", 1, {.sync = false}).value();
  {
    const auto store = file_store::open(dir / "m", {.read_only = true, .hold = true}).value();
    const checkpoint held = open(store).value();
    for (int n = 2; n < 6; ++n)
      CHECK(save_number(dir / "m", n, {.sync = false}).value().warnings.empty());
    for (std::size_t i = 0; i < leaf_count; ++i)
      CHECK(held.load<std::vector<float>>("layer/" + std::to_string(i)).value() == values_of(1));
    CHECK(verify(held).value().result() == verdict::ok);
    CHECK(names_in(dir.path()).size() == 2);
  }
  CHECK(open(dir / "m")->load<std::vector<float>>("layer/0").value() == values_of(5));
  save_number(dir / "other", 1, {.sync = false}).value();
  CHECK(names_in(dir.path()) == std::vector<std::string>{"m", "other"});
  CHECK(test::open_files() == before);
}

TEST_CASE("litter: what a killed save leaves is gone after the next one beside it") {
  const test::temp_directory dir;
  if (!has_locks(dir)) return;
  for (const char* next : {"step_2", "step_2", "step_1.zip", "step_1"}) {
    save_and_die(dir, "step_1");
    const auto left = names_in(dir.path());
    CHECK(std::any_of(left.begin(), left.end(),
                      [](const std::string& name) { return name.starts_with(".step_1.tmp."); }));
    CHECK(save_number(dir / next, 3, {.sync = false}).value().warnings.empty());
    for (const std::string& name : names_in(dir.path())) CHECK_FALSE(name.starts_with("."));
    CHECK(misread(dir / next) == "");
  }
}

TEST_CASE("litter: the tree of a save that is at work stays") {
  const test::temp_directory dir;
  std::string during;
  const test::hooked_publisher store{
      file_store::open(dir.path().string()).value(),
      {.after_stage = [] {},
       .before_commit =
           [&] {
             // Another process saves, and finds this tree.
             during = test::in_child([&] {
               const auto saved = save_number(dir / "step_2", 2, {.sync = false});
               return saved ? std::string("saved") : to_string(saved.failure());
             });
           }}};
  CHECK(save_number({store, store_key::parse("step_1").value()}, 1, {.sync = false}));
  CHECK(during == "saved");
  CHECK(misread(dir / "step_1") == "");
  CHECK(misread(dir / "step_2") == "");
  CHECK(names_in(dir.path()) == std::vector<std::string>{"step_1", "step_2"});
}

TEST_CASE("litter: what cannot be removed is a warning of the save, which is done") {
  const test::temp_directory dir;
  save_number(dir / "m", 1, {.sync = false}).value();
  const bool locks = has_locks(dir);
  if (locks) save_and_die(dir, "step_1");
  const std::string said = test::in_child([&] {
    if (!test::deny(SYS_unlinkat, EROFS)) return std::string("skipped");
    const auto saved = save_number(dir / "m", 2, {.sync = false});
    if (!saved) return to_string(saved.failure());
    std::string all;
    for (const std::string& one : saved->warnings) all += one + "\n";
    return all;
  });
  if (said == "skipped") return;
  CAPTURE(said);
  CHECK(misread(dir / "m") == "");
  CHECK(said.find("remove the checkpoint that was replaced, " + (dir / ".m.tmp.")) !=
        std::string::npos);
  CHECK(said.ends_with("Read-only file system\n"));
  if (locks) CHECK(said.starts_with("remove what an earlier save left, " + (dir / ".step_1.tmp.")));
}

}  // namespace replaced_test
