// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/file/publish_directory.hpp>
#include <zarrpoint/store/file/remove_tree.hpp>

#include "support/child_process.hpp"
#include "support/open_files.hpp"
#include "support/small_disk.hpp"
#include "support/store_conformance.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <sys/file.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace publish_directory_test {

using namespace zarrpoint;
namespace fs = std::filesystem;
using test::names_in;

namespace {

std::string text_of(const file_store& store, const char* key) {
  const auto bytes = get(store, test::key(key), 1000);
  return bytes && *bytes ? std::string(as_text(**bytes)) : "nothing";
}

/// A store that holds the tree "m", with an object "old".
struct with_old_tree {
  explicit with_old_tree(const std::string& path)
      : root(path), store(file_store::open(path).value()) {
    store.put(test::key("m/d/old"), as_bytes("old")).value();
  }
  /// The tree "m" is what it was, and nothing lies beside it.
  bool intact() const {
    return names_in(root) == std::vector<std::string>{"m"} &&
           names_in(root / "m") == std::vector<std::string>{"d"} &&
           test::read_file(root / "m/d/old") == "old";
  }
  bool replaced() const {
    return names_in(root) == std::vector<std::string>{"m"} && !fs::exists(root / "m/d/old") &&
           test::read_file(root / "m/new/0") == "new";
  }
  /// Stages `files` files, calls `prepare`, commits.
  result<void> replace(int files, const std::function<bool()>& prepare) const {
    ZARRPOINT_TRY(staged, store.stage(test::key("m"), {.overwrite = true, .sync = true}));
    for (int i = 0; i < files; ++i)
      ZARRPOINT_CHECK(staged->store().put(test::key("new/" + std::to_string(i)), as_bytes("new")));
    if (!prepare()) return error{errc::unsupported, "skipped"};
    return staged->commit();
  }

  fs::path root;
  file_store store;
};

std::string outcome(const result<void>& done) { return done ? "done" : to_string(done.failure()); }
constexpr std::uint32_t rename_exchange = 2;
constexpr const char* no_seccomp = "unsupported: skipped";

}  // namespace

TEST_CASE("publish: whatever call fails, the old tree is intact and nothing is left") {
  struct fault {
    long number;
    int code;
    int files;
    bool from_the_start;  ///< or only in the commit
    const char* words;
  };
  const std::vector<fault> faults = {
      {SYS_mkdirat, ENOSPC, 3, true, "No space left on device"},
      {SYS_mkdirat, EROFS, 3, true, "Read-only file system"},
      {SYS_openat, EMFILE, 3, true, "Too many open files"},
      {SYS_pwrite64, ENOSPC, 3, true, "No space left on device"},
      {SYS_pwrite64, EIO, 3, true, "Input/output error"},
      {SYS_close, EIO, 3, true, "Input/output error"},
      {SYS_fdatasync, EIO, 3, true, "Input/output error"},
      {SYS_fsync, EIO, 3, true, "Input/output error"},
      {SYS_fsync, EIO, 3, false, "Input/output error"},
      {SYS_syncfs, EIO, 100, false, "Input/output error"},
      {SYS_renameat, EIO, 3, false, "Input/output error"},
      {SYS_renameat2, EIO, 3, false, "Input/output error"},
      {SYS_renameat2, ENOSPC, 3, false, "No space left on device"},
  };
  for (const fault& each : faults) {
    if (!test::makes_call(each.number)) continue;
    CAPTURE(each.number);
    CAPTURE(each.code);
    const test::temp_directory dir;
    const with_old_tree tree(dir.path().string());
    if (each.number == SYS_syncfs) {
      const detail::unique_fd fd(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY));
      if (!detail::syncfs_is_reliable(fd.get())) continue;
    }
    const std::string said = test::in_child([&] {
      const auto fail = [&] { return test::deny(each.number, each.code); };
      if (each.from_the_start && !fail()) return std::string(no_seccomp);
      return outcome(tree.replace(each.files, [&] { return each.from_the_start || fail(); }));
    });
    if (said == no_seccomp) {
      MESSAGE("skipped: seccomp is not allowed here");
      return;
    }
    CHECK(said.starts_with("io: "));
    CHECK(said.find(dir / "m") != std::string::npos);
    CHECK(said.ends_with(each.words));
    CHECK(tree.intact());
  }
}

TEST_CASE(
    "publish: when only the last sync fails, both trees are there and the outcome is unknown") {
  for (const bool steps_aside : {true, false}) {
    if (!steps_aside && !ZARRPOINT_LINUX) continue;  // names are not exchanged
    CAPTURE(steps_aside);
    const test::temp_directory dir;
    const with_old_tree tree(dir.path().string());
    const std::string said = test::in_child([&] {
      return outcome(tree.replace(3, [&] {
        // As if it could not take the place of the old one, which must then be exchanged.
        if (!steps_aside && !test::deny(SYS_renameat, ENOTEMPTY)) return false;
        // Every descriptor of the directory that holds the target.
        for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
          std::error_code gone;
          if (fs::read_symlink(entry.path(), gone) != dir.path()) continue;
          const auto fd = static_cast<std::uint32_t>(std::stoul(entry.path().filename().string()));
          if (!test::deny(SYS_fsync, EIO, test::with_argument{0, fd})) return false;
        }
        return true;
      }));
    });
    if (said == no_seccomp) {
      MESSAGE("skipped: seccomp is not allowed here");
      return;
    }
    CHECK(test::read_file(dir / "m/new/0") == "new");
    const auto names = names_in(dir.path());
    REQUIRE(names.size() == 2);
    CHECK(said.starts_with("outcome_unknown: the old checkpoint is kept as " + names[0]));
    CHECK(names[0].starts_with(".m.old.") == steps_aside);
    if (steps_aside) CHECK(names[0].size() == std::string_view(".m.old.").size() + 32);
    CHECK(test::read_file(dir.path() / names[0] / "d/old") == "old");
  }
}

TEST_CASE("publish: where names cannot be exchanged, the old tree steps aside") {
  for (const int code : {EINVAL, ENOSYS}) {
    const test::temp_directory dir;
    const with_old_tree tree(dir.path().string());
    const std::string said = test::in_child([&] {
      return outcome(tree.replace(3, [&] {
        return test::deny(SYS_renameat2, code, test::with_argument{4, rename_exchange});
      }));
    });
    if (said == no_seccomp) {
      MESSAGE("skipped: seccomp is not allowed here");
      return;
    }
    CHECK(said == "done");
    CHECK(tree.replaced());
  }
}

TEST_CASE("publish: where names cannot be exchanged, and the old tree cannot step aside either") {
  const test::temp_directory dir;
  const with_old_tree tree(dir.path().string());
  const std::string said = test::in_child([&] {
    return outcome(tree.replace(3, [&] {
      return test::deny(SYS_renameat2, EINVAL, test::with_argument{4, rename_exchange}) &&
             test::deny(SYS_renameat, ENOTEMPTY);
    }));
  });
  CHECK((said == no_seccomp || said.ends_with("publish " + (dir / "m") + ": Directory not empty")));
  CHECK(tree.intact());
}

TEST_CASE("publish: a failure to look is not taken for something that is there") {
  const test::temp_directory dir;
  const with_old_tree tree(dir.path().string());
  for (const auto& [number, code] : {std::pair(SYS_openat, EMFILE), {SYS_newfstatat, EIO}}) {
    CAPTURE(number);
    const std::string said = test::in_child([&, denied = number, fails = code] {
      const auto early = tree.store.stage(test::key("m"), {.overwrite = false});
      if (early || early.failure().code != errc::already_exists) return std::string("not refused");
      if (!test::deny(denied, fails)) return std::string("skipped");
      const auto refused = tree.store.stage(test::key("m"), {.overwrite = false});
      return refused ? std::string("staged") : to_string(refused.failure());
    });
    if (said == "skipped") {
      MESSAGE("skipped: seccomp is not allowed here");
      return;
    }
    CHECK(said == "io: create " + (dir / "m") + ": " + std::generic_category().message(code));
  }
}

TEST_CASE("publish: what is published is free for readers while the publication is still there") {
  for (const int code : {0, EINVAL}) {
    for (const bool replaces : {true, false}) {
      const test::temp_directory dir;
      const with_old_tree tree(dir.path().string());
      if (!replaces) fs::remove_all(dir / "m");
      const std::string said = test::in_child([&]() -> std::string {
        const auto staged = tree.store.stage(test::key("m"), {.overwrite = true}).value();
        staged->store().put(test::key("x"), as_bytes("x")).value();
        if (code != 0 && !test::deny(SYS_renameat2, code, test::with_argument{4, rename_exchange}))
          return "skipped";
        if (const auto done = staged->commit(); !done) return to_string(done.failure());
        const detail::unique_fd opened(::open((dir / "m").c_str(), O_RDONLY | O_DIRECTORY));
        return detail::lock_file(opened.get(), LOCK_SH) == 0 ? "free" : "locked";
      });
      CHECK((said == "free" || said == "skipped"));
    }
  }
}

TEST_CASE("publish: a tree that cannot be locked after all is taken by its age") {
  const test::temp_directory dir;
  const detail::unique_fd parent(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!detail::has_true_locks(parent.get())) return;
  const file_store store = file_store::open(dir.path().string()).value();
  const auto staged_when = [&](int code) {
    return test::in_child([&]() -> std::string {
      if (!test::deny(SYS_flock, code)) return "skipped";
      const auto staged = store.stage(test::key("m"), {.overwrite = true});
      if (!staged) return to_string(staged.failure());
      const auto names = names_in(dir.path());
      if (names.size() != 1) return std::to_string(names.size()) + " names";
      if (!detail::is_temporary_name(names[0], detail::temporary_kind::unlocked))
        return names[0] + " says that it is locked";
      const auto done = (*staged)->commit();
      return done ? "done" : to_string(done.failure());
    });
  };
  for (const int code : {ENOLCK, ENOSYS, EPERM}) {
    const std::string said = staged_when(code);
    CHECK((said == "done" || said == "skipped"));
    CHECK(names_in(dir.path()).size() == (said == "done" ? 1 : 0));
    fs::remove_all(dir / "m");
  }
  // Of one that another process has locked, or removed, each time nothing is left.
  for (const int code : {EWOULDBLOCK, ENOENT}) {
    const std::string said = staged_when(code);
    CHECK((said == "skipped" || said == "io: create " + (dir / "m") + ": Device or resource busy"));
    CHECK(names_in(dir.path()).empty());
  }
}

TEST_CASE("publish: an old tree that cannot step aside stays where it is") {
  const test::temp_directory dir;
  const with_old_tree tree(dir.path().string());
  const test::small_disk busy("size=1m", dir / "m");
  if (!busy.mounted()) {
    MESSAGE(test::skipped_without_root);
    return;
  }
  test::write_file(dir / "m/mounted", "x");
  for (const bool exchange : {true, false}) {
    const std::string said = test::in_child([&] {
      return outcome(tree.replace(3, [&] {
        return exchange ||
               test::deny(SYS_renameat2, EINVAL, test::with_argument{4, rename_exchange});
      }));
    });
    if (said == no_seccomp) continue;
    CHECK(said == "io: publish " + (dir / "m") + ": Device or resource busy");
    CHECK(names_in(dir.path()) == std::vector<std::string>{"m"});
    CHECK(names_in(dir / "m") == std::vector<std::string>{"mounted"});
  }
}

TEST_CASE("publish: a full disk leaves the old tree, and room for it") {
  const test::small_disk disk("size=1m");
  if (!disk.mounted()) {
    MESSAGE(test::skipped_without_root);
    return;
  }
  const with_old_tree tree(disk.path());
  for (const bool sync : {false, true}) {
    {
      const auto staged =
          tree.store.stage(test::key("m"), {.overwrite = true, .sync = sync}).value();
      result<void> put;
      for (int i = 0; put && i < 20; ++i)
        put = staged->store().put(test::key(std::to_string(i)), test::random_bytes(100'000));
      REQUIRE_FALSE(put);
      CHECK(put.failure().code == errc::io);
      CHECK(put.failure().message.find("No space left on device") != std::string::npos);
    }
    CHECK(tree.intact());
  }
  CHECK(tree.replace(3, [] { return true; }));
  CHECK(tree.replaced());
}

TEST_CASE("publish: an empty directory may be published over, anything else only when asked") {
  const test::temp_directory dir;
  const file_store store = file_store::open(dir.path().string()).value();
  const auto publish = [&](const char* name, bool overwrite) -> result<void> {
    ZARRPOINT_TRY(staged, store.stage(test::key(name), {.overwrite = overwrite, .sync = false}));
    ZARRPOINT_CHECK(staged->store().put(test::key("x"), as_bytes("new")));
    return staged->commit();
  };
  fs::create_directory(dir / "empty");
  CHECK(publish("empty", false));
  CHECK(test::read_file(dir / "empty/x") == "new");
  test::write_file(dir / "file", "old");
  test::write_file(dir / "beside", "old");
  fs::create_symlink("beside", dir / "link");
  for (const char* name : {"file", "link", "empty"}) {
    CAPTURE(name);
    const auto refused = publish(name, false);
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::already_exists);
    CHECK(publish(name, true));
    CHECK(test::read_file(dir / name + "/x") == "new");
  }
  // The link was replaced, not what it points to.
  CHECK(test::read_file(dir / "beside") == "old");
  CHECK(names_in(dir.path()) == std::vector<std::string>{"beside", "empty", "file", "link"});
}

TEST_CASE("publish: a tree that is taken for abandoned before it is locked is made again") {
  const test::temp_directory dir;
  const file_store store = file_store::open(dir.path().string()).value();
  const detail::unique_fd parent(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::atomic<bool> is_done{false};
  std::thread collector([&] {
    while (!is_done) static_cast<void>(detail::remove_abandoned(parent.get(), ""));
  });
  for (int i = 0; i < 300; ++i) {
    const auto staged = store.stage(test::key("m"), {.overwrite = true, .sync = false});
    const bool is_staged =
        staged && (*staged)->store().put(test::key("d/x"), as_bytes("x")) && (*staged)->commit();
    const bool is_put = static_cast<bool>(store.put(test::key("file"), as_bytes("x")));
    CHECK(is_staged);
    CHECK(is_put);
    if (!is_staged || !is_put) break;
  }
  is_done = true;
  collector.join();
}

TEST_CASE("file_store: what is held stays readable after it was replaced, until it is closed") {
  const test::temp_directory dir;
  const with_old_tree tree(dir.path().string());
  const detail::unique_fd parent(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  auto held = file_store::open(dir / "m", {.read_only = true, .hold = true});
  if (!detail::has_true_locks(parent.get())) {
    CHECK(held.failure().code == errc::unsupported);
    return;
  }
  const std::size_t before = test::open_files();
  for (int round = 0; round < 3; ++round) {
    CHECK(tree.replace(2, [] { return true; }));
    CHECK(text_of(*held, "d/old") == "old");
    CHECK(names_in(dir.path()).size() == 2);  // no more than the one that is held
  }
  CHECK(test::read_file(dir / "m/new/0") == "new");
  CHECK(test::open_files() == before);
  held = file_store::open(dir / "m", {.read_only = true, .hold = true});
  CHECK(text_of(*held, "new/0") == "new");
  CHECK(detail::remove_abandoned(parent.get(), "").empty());
  CHECK(tree.replaced());
  CHECK(file_store::open(dir / "none", {.hold = true}).failure().code == errc::not_found);
}

TEST_CASE("publish: another process may write to the staged tree, by its name") {
  const test::temp_directory dir;
  const file_store store = file_store::open(dir.path().string()).value();
  const auto staged = store.stage(test::key("m"), {.sync = true}).value();
  REQUIRE(staged->staged_name().starts_with(".m.tmp."));
  const file_store other = file_store::open(dir / staged->staged_name(), {.sync = true}).value();
  CHECK(other.put(test::key("d/x"), as_bytes("theirs")));
  CHECK(staged->store().put(test::key("d/y"), as_bytes("ours")));
  CHECK(staged->commit());
  CHECK(staged->staged_name().empty());
  CHECK(test::read_file(dir / "m/d/x") == "theirs");
  CHECK(test::read_file(dir / "m/d/y") == "ours");
}

TEST_CASE("publish: not twice, and not while a file is being written") {
  const test::temp_directory dir;
  const file_store store = file_store::open(dir.path().string()).value();
  const auto staged = store.stage(test::key("m"), {.sync = false}).value();
  {
    const auto writer = staged->store().create(test::key("x")).value();
    const auto refused = staged->commit();
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::invalid_argument);
    CHECK_FALSE(fs::exists(dir / "m"));
    writer->finish().value();
  }
  CHECK(staged->commit());
  CHECK(staged->commit().failure().code == errc::invalid_argument);
  CHECK(fs::exists(dir / "m/x"));
}

TEST_CASE("publish: parents are made, and two that publish at once do not mix") {
  const test::temp_directory dir;
  const file_store store = file_store::open(dir.path().string()).value();
  const auto first = store.stage(test::key("a/b/m"), {.overwrite = true}).value();
  const auto second = store.stage(test::key("a/b/m"), {.overwrite = true}).value();
  first->store().put(test::key("1"), {}).value();
  second->store().put(test::key("2"), {}).value();
  CHECK(second->commit());
  CHECK(names_in(dir / "a/b/m") == std::vector<std::string>{"2"});
  CHECK(first->commit());
  CHECK(names_in(dir / "a/b/m") == std::vector<std::string>{"1"});
  CHECK(names_in(dir / "a/b") == std::vector<std::string>{"m"});
}

TEST_CASE("publish: no descriptor leaks, whether it is committed, refused or dropped") {
  const std::size_t before = test::open_files();
  {
    const test::temp_directory dir;
    const file_store store = file_store::open(dir.path().string()).value();
    for (int i = 0; i < 20; ++i) {
      const bool overwrite = i % 2 == 0;
      auto staged = store.stage(test::key("m"), {.overwrite = overwrite, .sync = i % 3 == 0});
      CHECK(staged.has_value() == overwrite);
      if (!staged) continue;
      for (int file = 0; file <= i; ++file)
        (*staged)->store().put(test::key(std::to_string(file) + "/x"), as_bytes("x")).value();
      if (i % 4 == 0) CHECK((*staged)->commit());
    }
    CHECK(names_in(dir.path()) == std::vector<std::string>{"m"});
  }
  CHECK(test::open_files() == before);
}

TEST_CASE(
    "publish: the tree is built beside its target under a temporary name that is never listed") {
  const test::temp_directory dir;
  const file_store store = file_store::open(dir.path().string()).value();
  const auto staged = store.stage(test::key("m"), {}).value();
  staged->store().put(test::key("a/b"), test::random_bytes(3)).value();
  const auto during = names_in(dir.path());
  REQUIRE(during.size() == 1);
  CHECK(during[0].starts_with(".m.tmp."));
  CHECK(store.list(store_key::root()).value().empty());
  staged->commit().value();
  CHECK(names_in(dir.path()) == std::vector<std::string>{"m"});
}

TEST_CASE("publish: a target that appears meanwhile is not replaced unasked") {
  const test::temp_directory dir;
  const file_store store = file_store::open(dir.path().string()).value();
  {
    const auto staged = store.stage(test::key("m"), {}).value();
    fs::create_directory(dir / "m");
    test::write_file(dir / "m/theirs", "x");
    CHECK(staged->commit().failure().code == errc::already_exists);
  }
  CHECK(names_in(dir.path()) == std::vector<std::string>{"m"});
  CHECK(test::read_file(dir / "m/theirs") == "x");
}

TEST_CASE("publish: what stands in the way of the parent is named") {
  const test::temp_directory dir;
  test::write_file(dir / "file", "x");
  const file_store store = file_store::open(dir.path().string()).value();
  const auto refused = store.stage(test::key("file/m"), {});
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().message.find("file/m") != std::string::npos);
  CHECK(refused.failure().message.ends_with("Not a directory"));
  store.put(test::key("m/x"), as_bytes("x")).value();
  CHECK(store.stage(test::key("m"), {.overwrite = false}).failure().message ==
        "publish " + (dir / "m") + ": it is there already");
  CHECK(store.stage(store_key::root(), {}).failure().code == errc::invalid_argument);
}

TEST_CASE("publish: many files are synced as a whole, few one by one, with the same outcome") {
  for (const int count : {3, 100}) {
    const test::temp_directory dir;
    const file_store store = file_store::open(dir.path().string()).value();
    const auto staged = store.stage(test::key("m"), {.sync = true}).value();
    for (int i = 0; i < count; ++i)
      staged->store()
          .put(test::key(std::to_string(i % 7) + "/" + std::to_string(i)), test::random_bytes(10))
          .value();
    staged->commit().value();
    std::size_t found = 0;
    for (const auto& entry : fs::recursive_directory_iterator(dir / "m"))
      found += entry.is_regular_file() ? 1U : 0U;
    CHECK(found == static_cast<std::size_t>(count));
  }
}

}  // namespace publish_directory_test
