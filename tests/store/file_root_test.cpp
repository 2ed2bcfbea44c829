// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/file/file_root.hpp>

#include "support/child_process.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace file_root_test {

using namespace zarrpoint;
using namespace zarrpoint::detail;

namespace {

store_key key(std::string_view text) { return store_key::parse(text).value(); }

unique_fd directory(const std::filesystem::path& path) {
  return unique_fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY));
}

/// The outcome of `sync_tree` after `files` files, in a process where `number` fails with EIO
/// before the last of them; "skipped" without seccomp.
std::string sync_outcome(int files, long number) {
  const test::temp_directory dir;
  return test::in_child([&] {
    const auto root = file_root::staged(directory(dir.path()), "tree", true);
    for (int i = 0; i < files; ++i) {
      if (i + 1 == files && !test::deny(number, EIO)) return std::string("skipped");
      const unique_fd parent = root->parent_of(key("d/" + std::to_string(i) + "/f"), false);
      const unique_fd file(::openat(parent.get(), "f", O_WRONLY | O_CREAT, 0600));
      static_cast<void>(root->sync_file(file.get()));
    }
    const int first = root->sync_tree();
    return std::to_string(first) + " " + std::to_string(root->sync_tree());
  });
}

}  // namespace

TEST_CASE("file_root: names for people") {
  const file_root root(unique_fd(), "dir", {});
  CHECK(root.describe(store_key::root()) == "dir");
  CHECK(root.describe(key("a/b")) == "dir/a/b");
  CHECK(file_root(unique_fd(), "/", {}).describe(key("a")) == "/a");
  CHECK(file_root(unique_fd(), "dir/", {}).describe(key("a")) == "dir/a");
}

TEST_CASE("file_root: durable when asked, at once or as a tree") {
  CHECK_FALSE(file_root(unique_fd(), "", {}).durable());
  CHECK(file_root(unique_fd(), "", {.sync = true}).durable());
  const test::temp_directory dir;
  CHECK(file_root::staged(directory(dir.path()), "", true)->durable());
  CHECK_FALSE(file_root::staged(directory(dir.path()), "", false)->durable());
}

TEST_CASE("file_root: syncfs is trusted on local file systems only") {
  CHECK_FALSE(syncfs_is_reliable(directory("/proc").get()));
  CHECK_FALSE(syncfs_is_reliable(-1));
  // Elsewhere each file is synced, however many they are.
  const auto root = file_root::staged(directory("/proc"), "tree", true);
  for (int i = 0; i < 200; ++i) CHECK(root->sync_file(-1) == EBADF);
}

TEST_CASE("file_root: a tree of few files or many is synced") {
  const std::string said = sync_outcome(3, SYS_getppid);
  if (said == "skipped") {
    MESSAGE("skipped: seccomp is not allowed here");
    return;
  }
  CHECK(said == "0 0");
  CHECK(sync_outcome(100, SYS_getppid) == "0 0");
}

TEST_CASE("file_root: of many files that are to come none is synced by itself") {
  const test::temp_directory dir;
  const bool as_one = syncfs_is_reliable(directory(dir.path()).get());
  for (const std::size_t files : {32U, 33U}) {
    const auto root = file_root::staged(directory(dir.path()), "tree", true);
    root->expect(files);
    CHECK(root->sync_file(-1) == (as_one && files > 32 ? 0 : EBADF));
  }
}

TEST_CASE("file_root: a sync that failed once is failed for good") {
  const std::string twice = std::to_string(EIO) + " " + std::to_string(EIO);
  const std::string said = sync_outcome(3, SYS_fdatasync);
  if (said == "skipped") {
    MESSAGE("skipped: seccomp is not allowed here");
    return;
  }
  CHECK(said == twice);
  CHECK(sync_outcome(3, SYS_fsync) == twice);
  const test::temp_directory dir;
  const bool as_one = syncfs_is_reliable(directory(dir.path()).get());
  CHECK(sync_outcome(100, as_one ? SYS_syncfs : SYS_fdatasync) == twice);
}

TEST_CASE("file_root: what failed is not forgotten when the next file is synced") {
  const test::temp_directory dir;
  const auto root = file_root::staged(directory(dir.path()), "tree", true);
  const unique_fd file(::open((dir / "f").c_str(), O_WRONLY | O_CREAT, 0600));
  CHECK(root->sync_file(-1) == EBADF);
  CHECK(root->sync_file(file.get()) == 0);
  CHECK(root->sync_tree() == EBADF);
}

TEST_CASE("file_root: a directory below that cannot be synced fails the tree") {
  const test::temp_directory dir;
  const std::string said = test::in_child([&] {
    const auto root = file_root::staged(directory(dir.path()), "tree", true);
    static_cast<void>(root->parent_of(key("d/f"), false));
    // What is opened from now on; the tree itself is open already.
    const int next = ::open("/", O_RDONLY);
    ::close(next);
    for (int fd = next; fd < next + 4; ++fd) {
      if (!test::deny(SYS_fsync, EIO, test::with_argument{0, static_cast<std::uint32_t>(fd)}))
        return std::string("skipped");
    }
    const int first = root->sync_tree();
    return std::to_string(first) + " " + std::to_string(root->sync_tree());
  });
  CHECK((said == "skipped" || said == std::to_string(EIO) + " " + std::to_string(EIO)));
}

TEST_CASE("file_root: threads make the same directories durably") {
  const test::temp_directory dir;
  file_root root(directory(dir.path()), "root", {.sync = true});
  std::vector<std::thread> crew;
  std::atomic<int> failures{0};
  for (int t = 0; t < 4; ++t) {
    crew.emplace_back([&] {
      for (int i = 0; i < 50; ++i)
        if (!root.parent_of(key("d/" + std::to_string(i) + "/e/f"), true)) ++failures;
    });
  }
  for (std::thread& one : crew) one.join();
  CHECK(failures == 0);
}

TEST_CASE("file_root: a directory that cannot be made durable is not made") {
  const test::temp_directory dir;
  const std::string said = test::in_child([&] {
    file_root root(directory(dir.path()), "root", {.sync = true});
    if (!test::deny(SYS_fsync, EIO)) return std::string("skipped");
    const unique_fd without = root.parent_of(key("a/f"), false);
    const unique_fd with = root.parent_of(key("b/f"), true);
    const bool refused = !with && errno == EIO;
    // Nor is it there for the next to find and take for durable.
    const bool again = static_cast<bool>(root.parent_of(key("b/f"), true));
    return std::string(without && refused && !again ? "refused" : "wrong");
  });
  CHECK((said == "refused" || said == "skipped"));
}

}  // namespace file_root_test
