// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/file/directory.hpp>
#include <zarrpoint/store/file/file_options.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include "support/child_process.hpp"
#include "support/open_files.hpp"
#include "support/small_disk.hpp"
#include "support/store_conformance.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <thread>

namespace file_store_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

namespace {

/// Stores in directories of their own that live as long as the factory.
test::store_factory fresh_stores(file_store_options how) {
  how.create = true;
  return [how, dir = std::make_shared<test::temp_directory>(), count = 0]() mutable {
    return any_store(file_store::open(*dir / std::to_string(count++), how).value());
  };
}

void with_confinement(detail::confinement how, const std::function<void()>& work) {
  auto& chosen = detail::process_confinement();
  const auto before = chosen.exchange(how);
  work();
  chosen = before;
}

}  // namespace

TEST_CASE("file_store: conforms: atomic, in place, synced") {
  SUBCASE("atomic") { test::store_conformance(fresh_stores({})); }
  SUBCASE("synced") { test::store_conformance(fresh_stores({.sync = true})); }
  SUBCASE("confined segment by segment") {
    with_confinement(detail::confinement::by_segment,
                     [] { test::store_conformance(fresh_stores({})); });
  }
  SUBCASE("in place, for trees not yet published") {
    // A writer's file is there before it is finished, so the kit for writers does not apply.
    test::store_reads(fresh_stores({.atomic = false}));
  }
}

TEST_CASE("file_store: opening what is not a directory") {
  const test::temp_directory dir;
  test::write_file(dir / "file", "x");
  CHECK(file_store::open(dir / "nowhere").failure().code == errc::not_found);
  CHECK(file_store::open(dir / "nowhere")
            .failure()
            .message.find("nowhere: No such file or directory") != std::string::npos);
  CHECK(file_store::open(dir / "file").failure().code == errc::io);
  CHECK(file_store::open("").failure().code == errc::invalid_argument);
  CHECK(file_store::open(std::string("a\0b", 3)).failure().code == errc::invalid_argument);
  CHECK(file_store::open(dir / "made", {.create = true}));
  CHECK(file_store::open(dir / "made", {.create = true}));
  CHECK(fs::is_directory(dir / "made"));
}

TEST_CASE("file_store: a read-only store refuses to write") {
  const test::temp_directory dir;
  const file_store store = file_store::open(dir.path().string(), {.read_only = true}).value();
  CHECK(store.put(test::key("a"), {}).failure().code == errc::unsupported);
  CHECK(store.create(test::key("a")).failure().code == errc::unsupported);
  CHECK(store.erase(test::key("a")).failure().code == errc::unsupported);
  CHECK(store.stage(test::key("a")).failure().code == errc::unsupported);
  CHECK_FALSE(any_store(store).can_write());
}

TEST_CASE("file_store: symbolic links are not followed, in the last segment or before") {
  for (const auto how : {detail::confinement::by_kernel, detail::confinement::by_segment}) {
    if (how == detail::confinement::by_kernel && !test::has_openat2()) continue;
    with_confinement(how, [] {
      const test::temp_directory dir;
      fs::create_directories(dir / "outside/sub");
      test::write_file(dir / "outside/secret", "secret");
      const file_store store = file_store::open(dir / "store", {.create = true}).value();
      fs::create_symlink(dir / "outside", dir / "store/link");
      fs::create_symlink(dir / "outside/secret", dir / "store/file");
      fs::create_symlink("../outside/secret", dir / "store/relative");
      for (const char* name : {"link/secret", "file", "relative"}) {
        const auto refused = store.open(test::key(name));
        CAPTURE(name);
        REQUIRE_FALSE(refused);
        CHECK(refused.failure().message.find("symbolic link") != std::string::npos);
      }
      CHECK_FALSE(store.put(test::key("link/new"), test::random_bytes(3)));
      CHECK_FALSE(store.list(test::key("link")));
      CHECK(store.list(store_key::root()).value() ==
            std::vector<list_entry>{{"file", false}, {"link", true}, {"relative", false}});
      // Replacing the link itself touches nothing that it points to.
      CHECK(store.put(test::key("file"), test::random_bytes(3)));
      CHECK(test::read_file(dir / "outside/secret") == "secret");
      // A link is not an object.
      CHECK_FALSE(store.erase(test::key("relative")).value());
      CHECK(fs::is_symlink(dir / "store/relative"));
      CHECK(fs::exists(dir / "outside/secret"));
      CHECK_FALSE(fs::exists(dir / "outside/new"));
    });
  }
}

TEST_CASE("file_store: reads follow symbolic links as far as the options let them") {
  if (!test::has_openat2()) return;
  const test::temp_directory dir;
  fs::create_directories(dir / "outside");
  test::write_file(dir / "outside/file", "out");
  fs::create_directories(dir / "root/a/b");
  test::write_file(dir / "root/a/b/file", "in");
  fs::create_symlink("../a/b", dir / "root/a/up");
  fs::create_symlink("a/up/file", dir / "root/chain");
  fs::create_symlink("a/b/file", dir / "root/a/b/nowhere");
  fs::create_symlink("gone/../a", dir / "root/broken");
  fs::create_symlink("two", dir / "root/one");
  fs::create_symlink("one", dir / "root/two");
  fs::create_symlink("../outside", dir / "root/out");
  fs::create_symlink(dir / "root/a", dir / "root/absolute");
  fs::create_symlink("/proc/self/root", dir / "root/magic");
  const std::string root = dir / "root";
  const auto opened = [&](link_scope scope, const char* name) -> std::string {
    const file_store store =
        file_store::open(root, {.read_only = true, .follow_links = scope}).value();
    const auto found = store.open(test::key(name));
    if (!found) return found.failure().message;
    if (*found == nullptr) return "missing";
    std::vector<std::byte> bytes((*found)->size());
    (*found)->read(0, bytes).value();
    return std::string(as_text(bytes_view(bytes)));
  };
  const auto says = [&](const char* name, const char* why) {
    return "open " + root + "/" + name + ": " + why;
  };
  const char* const nowhere = "a symbolic link leads nowhere";
  for (const link_scope scope : {link_scope::beneath_root, link_scope::anywhere}) {
    CAPTURE(static_cast<int>(scope));
    for (const char* name : {"a/b/file", "a/up/file", "chain"}) CHECK(opened(scope, name) == "in");
    for (const char* name : {"x", "a/up/x", "a/up/x/y", "a/up/file/x", "a/up"})
      CHECK(opened(scope, name) == "missing");
    for (const char* name : {"broken", "broken/b", "a/b/nowhere", "a/up/nowhere"})
      CHECK(opened(scope, name) == says(name, nowhere));
    for (const char* name : {"one", "two/x"})
      CHECK(opened(scope, name) == says(name, "its symbolic links lead in a circle"));
    const bool all = scope == link_scope::anywhere;
    const char* const leaves = "a symbolic link leads out of the store";
    CHECK(opened(scope, "out/file") == (all ? "out" : says("out/file", leaves)));
    CHECK(opened(scope, "absolute/b/file") == (all ? "in" : says("absolute/b/file", leaves)));
    CHECK(opened(scope, "out/x") == (all ? "missing" : says("out/x", leaves)));
    if (!all) CHECK(opened(scope, "magic/x").find("symbolic link") != std::string::npos);
    // The listing has all of them: none is dropped in silence.
    const file_store store = file_store::open(root, {.follow_links = scope}).value();
    CHECK(store.list(store_key::root()).value() == std::vector<list_entry>{{"a", true},
                                                                           {"absolute", true},
                                                                           {"broken", true},
                                                                           {"chain", false},
                                                                           {"magic", true},
                                                                           {"one", true},
                                                                           {"out", true},
                                                                           {"two", true}});
    CHECK(store.list(test::key("a/up")).value() ==
          std::vector<list_entry>{{"file", false}, {"nowhere", true}});
    CHECK(store.list(test::key("a/up/x")).value().empty());
    for (const char* name : {"broken", "one"}) CHECK_FALSE(store.list(test::key(name)));
    CHECK(store.list(test::key("out")).has_value() == all);
    // To follow is for reading.
    CHECK_FALSE(store.put(test::key("a/up/new"), test::random_bytes(1)));
    CHECK_FALSE(store.erase(test::key("a/up/file")));
    CHECK(fs::exists(dir / "root/a/b/file"));
  }
}

TEST_CASE("file_store: a link that is exchanged while it is followed leads nobody out") {
  if (!test::has_openat2()) return;
  const test::temp_directory dir;
  for (const char* name : {"root/in", "outside"}) fs::create_directories(dir / name);
  test::write_file(dir / "root/in/file", "in");
  test::write_file(dir / "outside/file", "out");
  fs::create_symlink("in", dir / "root/link");
  const file_store store =
      file_store::open(dir / "root", {.follow_links = link_scope::beneath_root}).value();
  std::atomic<bool> done{false};
  std::thread other([&] {
    for (bool inside = false; !done; inside = !inside) {
      fs::create_symlink(inside ? "in" : "../outside", dir / "root/next");
      fs::rename(dir / "root/next", dir / "root/link");
    }
  });
  int read = 0, refused = 0;
  for (int i = 0; i < 1'000'000 && (read < 200 || refused < 200); ++i) {
    const auto found = store.open(test::key("link/file"));
    if (!found) {
      ++refused;
      continue;
    }
    REQUIRE(*found != nullptr);
    CHECK((*found)->size() == 2);
    ++read;
  }
  done = true;
  other.join();
  CHECK(read > 0);
  CHECK(refused > 0);
}

TEST_CASE("file_store: links beneath the root are followed by openat2 or not at all") {
  const test::temp_directory dir;
  const std::string said = test::in_child([&] {
    if (!test::deny(SYS_openat2, EPERM)) return std::string("skipped");
    detail::process_confinement() = detail::confinement::unknown;
    const auto refused =
        file_store::open(dir.path().string(), {.follow_links = link_scope::beneath_root});
    const bool all =
        bool(file_store::open(dir.path().string(), {.follow_links = link_scope::anywhere}));
    return (all ? "all " : "") + (refused ? "opened" : to_string(refused.failure()));
  });
  if (said == "skipped") {
    MESSAGE("skipped: seccomp is not allowed here");
    return;
  }
  CHECK(said.starts_with("all unsupported: open " + dir.path().string() +
                         ": follow_links needs openat2"));
}

TEST_CASE("file_store: FIFOs and directories are not objects, and opening them does not block") {
  const test::temp_directory dir;
  const file_store store = file_store::open(dir.path().string()).value();
  REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
  const auto pipe = store.open(test::key("pipe"));
  REQUIRE_FALSE(pipe);
  CHECK(pipe.failure().message.find("not a regular file") != std::string::npos);
  CHECK_FALSE(store.erase(test::key("pipe")).value());
  CHECK(fs::exists(dir / "pipe"));
  fs::create_directory(dir / "d");
  CHECK(store.open(test::key("d")).value() == nullptr);
  CHECK_FALSE(store.put(test::key("d"), test::random_bytes(1)));
  CHECK_FALSE(store.erase(test::key("d")).value());
  CHECK(fs::is_directory(dir / "d"));
}

TEST_CASE("file_store: unfinished and failed writers leave no file behind") {
  const test::temp_directory dir;
  const file_store store = file_store::open(dir.path().string()).value();
  {
    const auto writer = store.create(test::key("a")).value();
    writer->write(0, test::random_bytes(10)).value();
  }
  CHECK(fs::is_empty(dir.path()));
  fs::create_directory(dir / "a");
  CHECK_FALSE(store.put(test::key("a"), test::random_bytes(1)));
  CHECK(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("file_store: no descriptor leaks") {
  const std::size_t before = test::open_files();
  test::store_conformance(fresh_stores({}));
  {
    const test::temp_directory dir;
    const file_store store = file_store::open(dir.path().string()).value();
    store.put(test::key("a"), test::random_bytes(10)).value();
    for (int i = 0; i < 10; ++i) {
      CHECK_FALSE(store.put(test::key("a/b"), {}));
      CHECK(store.open(test::key("x/y")).value() == nullptr);
      CHECK(store.list(test::key("nope")).value().empty());
    }
  }
  CHECK(test::open_files() == before);
}

TEST_CASE("file_store: a full disk is reported, and what was there stays") {
  test::small_disk disk("size=1m");
  if (!disk.mounted()) {
    MESSAGE(test::skipped_without_root);
    return;
  }
  const file_store store = file_store::open(disk.path()).value();
  const auto small = test::random_bytes(1000);
  store.put(test::key("a"), small).value();
  const auto large = test::random_bytes(2 << 20);
  const auto refused = store.put(test::key("a"), large);
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::io);
  CHECK(refused.failure().message.find("No space left on device") != std::string::npos);
  CHECK(test::read_object(store, "a") == small);
  const auto writer = store.create(test::key("b")).value();
  const auto reserved = writer->reserve(2 << 20);
  CHECK(reserved.has_value() == !ZARRPOINT_LINUX);  // elsewhere nothing is reserved
  if (!reserved) CHECK(reserved.failure().message.find("No space left") != std::string::npos);
  CHECK(store.put(test::key("c"), small));
}

TEST_CASE("file_store: a file system that is read-only is reported with its words") {
  test::small_disk disk("size=1m");
  if (!disk.mounted() || !disk.make_read_only()) {
    MESSAGE(test::skipped_without_root);
    return;
  }
  const file_store store = file_store::open(disk.path()).value();
  const auto refused = store.put(test::key("a"), test::random_bytes(1));
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().message.find("Read-only file system") != std::string::npos);
  CHECK_FALSE(store.stage(test::key("a"), {}));
}

TEST_CASE("file_store: without permission the old object stays, and the error says why") {
  const test::temp_directory dir;
  const file_store store = file_store::open(dir.path().string()).value();
  store.put(test::key("d/a"), test::random_bytes(3)).value();
  fs::permissions(dir.path(), fs::perms(0755));
  fs::permissions(dir / "d", fs::perms(0555));
  // Modes do not bind root: the child becomes nobody.
  const std::string said = test::in_child([&] {
    if (::getuid() == 0 && ::setuid(65534) != 0) return std::string("skipped");
    std::string all;
    for (const auto& refused :
         {store.put(test::key("d/a"), {}).failure(), store.erase(test::key("d/a")).failure(),
          store.create(test::key("d/b")).failure(), store.stage(test::key("d/m")).failure()})
      all += to_string(refused) + "\n";
    return all;
  });
  fs::permissions(dir / "d", fs::perms(0755));
  if (said == "skipped") {
    MESSAGE("skipped: modes do not bind root, and it cannot become anyone else here");
    return;
  }
  const std::string denied = ": Permission denied\n";
  CHECK(said == "io: create " + (dir / "d/a") + denied + "io: erase " + (dir / "d/a") + denied +
                    "io: create " + (dir / "d/b") + denied + "io: create " + (dir / "d/m") +
                    denied);
  CHECK(test::read_object(store, "d/a") == test::random_bytes(3));
}

TEST_CASE("file_store: names that no key can have are not listed, nor those of unfinished files") {
  const test::temp_directory dir;
  const file_store store = file_store::open(dir.path().string()).value();
  for (const char* name : {"good", "back\\slash", "new\nline", "latin-\xe9",
                           ".good.tmp.0123456789abcdef0123456789abcdef"})
    test::write_file(dir / name, "x");
  REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
  CHECK(store.list(store_key::root()).value() ==
        std::vector<list_entry>{{"good", false}, {"pipe", false}});
  for (const char* name : {"a/.good.tmp.0123456789abcdef0123456789abcdef",
                           ".good.tmp.0123456789abcdef0123456789abcdef/a",
                           "a/.good.tmp.0123456789abcdef0123456789abcdef/b/c"}) {
    const store_key unfinished = test::key(name);
    CHECK(store.put(unfinished, {}).failure().code == errc::invalid_argument);
    CHECK(store.create(unfinished).failure().code == errc::invalid_argument);
    CHECK(store.erase(unfinished).failure().code == errc::invalid_argument);
    CHECK(store.stage(unfinished).failure().code == errc::invalid_argument);
  }
}

TEST_CASE("file_store: a store whose directory was removed says so") {
  const test::temp_directory dir;
  const file_store store = file_store::open(dir / "s", {.create = true}).value();
  store.put(test::key("a"), {}).value();
  fs::remove_all(dir / "s");
  CHECK(store.open(test::key("a")).value() == nullptr);
  CHECK(store.put(test::key("a"), {}).failure().code == errc::not_found);
  CHECK(store.put(test::key("b/a"), {}).failure().code == errc::not_found);
}

TEST_CASE("file_store: the root may be reached through a link, since its path is the caller's") {
  const test::temp_directory dir;
  fs::create_directory(dir / "real");
  fs::create_directory_symlink(dir / "real", dir / "link");
  const file_store store = file_store::open(dir / "link/").value();
  store.put(test::key("a"), {}).value();
  CHECK(fs::exists(dir / "real/a"));
  CHECK(store.describe(test::key("a")) == dir / "link/a");
}

}  // namespace file_store_test
