// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/store/file/publish_directory.hpp>
#include <zarrpoint/store/file/remove_tree.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/child_process.hpp"
#include "support/open_files.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

namespace keep_entries_test {

using namespace zarrpoint;
namespace fs = std::filesystem;
using test::names_in;

void put(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

/// Keeps what is foreign in `from`; the paths, or the error.
std::vector<std::string> kept(const fs::path& from, const fs::path& to, const owned_paths& owned) {
  const detail::unique_fd one(::open(from.c_str(), O_RDONLY | O_DIRECTORY));
  const detail::unique_fd other(::open(to.c_str(), O_RDONLY | O_DIRECTORY));
  auto out = detail::keep_entries({one.get(), other.get(), true}, owned);
  return out ? *std::move(out) : std::vector{"error: " + out.failure().message};
}

TEST_CASE("keep_entries: files, folders and links of others, and nothing of the old or the new") {
  const test::temp_directory folder;
  const fs::path from = folder / "old";
  const fs::path to = folder / "new";
  put(from / "zarr.json", "old");
  put(from / "w/c/0", "old");
  put(from / "layers/zarr.json", "old");
  put(from / "layers/0/w/c/0", "old");
  put(from / "layers/0/notes.txt", "a note");
  put(from / "latest.txt", "1200");
  put(from / "logs/deep/er/x", "log");
  put(from / "logs/deep/own/y", "log of a leaf that is new");
  put(from / ".zarr.json.tmp.0123456789abcdef0123456789abcdef", "unfinished");
  fs::create_directories(from / "empty");
  fs::create_symlink("nowhere", from / "link");
  put(from / "taken", "both have it");
  put(to / "zarr.json", "new");
  put(to / "taken", "the new one");
  put(to / "logs/deep/own/c/0", "new");
  const owned_paths owned{{"layers/0/w", "layers/zarr.json", "w", "zarr.json"}, {"logs/deep/own"}};
  CHECK(kept(from, to, owned) == std::vector<std::string>{"empty/", "latest.txt",
                                                          "layers/0/notes.txt", "link",
                                                          "logs/deep/er/"});
  CHECK(test::read_file(to / "latest.txt") == "1200");
  CHECK(fs::hard_link_count(to / "latest.txt") == 2);  // the old tree has it, too
  CHECK(test::read_file(to / "layers/0/notes.txt") == "a note");
  CHECK(test::read_file(to / "logs/deep/er/x") == "log");
  CHECK(test::read_file(to / "zarr.json") == "new");
  CHECK(test::read_file(to / "taken") == "the new one");
  CHECK(fs::is_directory(to / "empty"));
  CHECK(fs::read_symlink(to / "link") == "nowhere");
  CHECK_FALSE(fs::exists(to / "w"));
  CHECK_FALSE(fs::exists(to / "layers/0/w"));
  CHECK_FALSE(fs::exists(to / "logs/deep/own/y"));
  CHECK_FALSE(fs::exists(to / ".zarr.json.tmp.0123456789abcdef0123456789abcdef"));
  // Where nothing is foreign, no folder of the old tree comes over.
  const fs::path bare = folder / "bare";
  fs::create_directories(bare);
  CHECK(kept(from / "layers", bare, {{"0/notes.txt", "0/w", "zarr.json"}, {}}).empty());
  CHECK(fs::is_empty(bare));
}

TEST_CASE("keep_entries: what cannot be kept is an error that names it") {
  const test::temp_directory folder;
  const fs::path from = folder / "old";
  const fs::path to = folder / "new";
  fs::path deep = from;
  for (int i = 0; i < 140; ++i) deep /= "d";
  put(deep / "x", "");
  fs::create_directories(to);
  const auto refused = kept(from, to, {});
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].starts_with("error: keep d/d/d"));
}

TEST_CASE("publication::keep: by each store that publishes") {
  const test::temp_directory folder;
  const auto key = [](std::string_view text) { return store_key::parse(text).value(); };
  for (const any_store& store :
       {any_store(memory_store()), any_store(file_store::open(folder / "").value())}) {
    for (const char* name : {"c/zarr.json", "c/w/c/0", "c/g/w/c/0", "c/g/n", "c/f", "c/d/e/f", "b"})
      store.put(key(name), as_bytes(std::string_view(name))).value();
    const auto staged = store.stage(key("c"), {.overwrite = true}).value();
    staged->store().put(key("zarr.json"), as_bytes(std::string_view("new"))).value();
    CHECK(staged->keep({{"g/w", "w", "zarr.json"}, {"v"}}).value() ==
          std::vector<std::string>{"d/", "f", "g/n"});
    staged->commit().value();
    const auto text = [&](std::string_view name) -> std::string {
      const auto bytes = get(store, key(name), 100).value();
      return bytes ? std::string(as_text(*bytes)) : "nothing";
    };
    CHECK(text("c/zarr.json") == "new");
    CHECK(text("c/w/c/0") == "nothing");
    CHECK(text("c/g/w/c/0") == "nothing");
    CHECK(text("c/g/n") == "c/g/n");
    CHECK(text("c/f") == "c/f");
    CHECK(text("c/d/e/f") == "c/d/e/f");
    // Of a key where nothing is, nothing is kept.
    const auto first = store.stage(key("first"), {.overwrite = true}).value();
    CHECK(first->keep({}).value().empty());
  }
}

TEST_CASE("keep_entries: what others remove meanwhile is gone, and no failure") {
  const test::temp_directory folder;
  const fs::path from = folder / "old";
  for (const char* name : {"a/b/x", "c/y", "z"}) put(from / name, "1");
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) {
      std::error_code ignored;
      for (int i = 0; i < 20; ++i) std::ofstream(from / ("f" + std::to_string(i))) << "x";
      fs::create_directories(from / "d/e/f", ignored);
      for (int i = 0; i < 20; ++i) fs::remove(from / ("f" + std::to_string(i)), ignored);
      fs::remove_all(from / "d", ignored);
    }
  });
  std::vector<std::string> failed;
  for (int i = 0; i < 500; ++i) {
    const fs::path to = folder / "new";
    fs::create_directories(to);
    const auto out = kept(from, to, {});
    for (const std::string& one : out)
      if (one.starts_with("error")) failed.push_back(one);
    if (!fs::exists(to / "a/b/x") || !fs::exists(to / "z")) failed.push_back("not kept");
    fs::remove_all(to);
  }
  done = true;
  other.join();
  CHECK(failed.empty());
  if (!failed.empty()) MESSAGE(failed.front());
}

TEST_CASE("keep_entries: a copy, where there are no links, runs as nobody and is never half") {
  const test::temp_directory folder;
  const fs::path from = folder / "old";
  const fs::path to = folder / "new";
  put(from / "tool", "text");
  fs::permissions(from / "tool", fs::perms(06755));
  fs::create_directories(to);
  // Not root: it writes to a file that is set-user-id without any effect on the mode.
  const auto run = [&](long denied, int code) {
    return test::in_child([&] {
      if (!test::deny(SYS_linkat, EPERM)) return std::string("skipped");
      if (denied != 0 && !test::deny(denied, code)) return std::string("skipped");
      return kept(from, to, {}).at(0);
    });
  };
  const std::string refused = run(SYS_pwrite64, ENOSPC);
  if (refused == "skipped") {
    MESSAGE("skipped: seccomp is not allowed here");
    return;
  }
  CHECK(refused == "error: keep tool: No space left on device");
  CHECK(names_in(to).empty());
  for (const auto& [number, code] : {std::pair(0L, 0), {long{SYS_renameat2}, EINVAL}}) {
    CHECK(run(number, code) == "tool");
    CHECK(names_in(to) == std::vector<std::string>{"tool"});
    CHECK(test::read_file(to / "tool") == "text");
    struct ::stat info {};
    REQUIRE(::stat((to / "tool").c_str(), &info) == 0);
    CHECK((info.st_mode & 07000) == 0);
    CHECK((info.st_mode & 0700) == 0700);
    // What the new tree has stays.
    test::write_file(to / "tool", "newer");
    CHECK(test::in_child([&] {
            test::deny(SYS_linkat, EPERM);
            const auto out = kept(from, to, {});
            return out.empty() ? std::string("nothing") : out[0];
          }) == "nothing");
    CHECK(test::read_file(to / "tool") == "newer");
    fs::remove(to / "tool");
  }
}

TEST_CASE("publication::keep: a directory that may not be written to is kept, again and again") {
  const test::temp_directory folder;
  fs::permissions(folder.path(), fs::perms(0777));
  const std::string said = test::in_child([&] {
    // Modes do not bind root: the child becomes nobody.
    if (::getuid() == 0 && ::setuid(65534) != 0) return std::string("skipped");
    const auto key = [](std::string_view text) { return store_key::parse(text).value(); };
    const any_store store = file_store::open(folder / "").value();
    for (const char* name : {"c/zarr.json", "c/docs/deep/x", "c/docs/y"})
      store.put(key(name), as_bytes(std::string_view("1"))).value();
    fs::permissions(folder / "c/docs/deep", fs::perms(0555));
    fs::permissions(folder / "c/docs", fs::perms(0555));
    for (const bool commits : {true, false, true}) {
      const auto staged = store.stage(key("c"), {.overwrite = true});
      if (!staged) return to_string(staged.failure());
      const auto kept = (*staged)->keep({{"zarr.json"}, {}});
      if (!kept) return to_string(kept.failure());
      if (*kept != std::vector<std::string>{"docs/"}) return std::string("not kept");
      if (!commits) continue;
      const auto done = (*staged)->commit();
      if (!done) return to_string(done.failure());
    }
    return std::string("done");
  });
  if (said == "skipped") {
    MESSAGE("skipped: modes do not bind root, and it cannot become anyone else here");
    return;
  }
  CHECK(said == "done");
  CHECK(test::read_file(folder / "c/docs/deep/x") == "1");
  for (const char* name : {"c/docs", "c/docs/deep"}) {
    struct ::stat info {};
    REQUIRE(::stat((folder / name).c_str(), &info) == 0);
    CHECK((info.st_mode & 07777) == 0555);
  }
  CHECK(names_in(folder.path()) == std::vector<std::string>{"c"});  // neither old nor staged
  fs::permissions(folder / "c/docs", fs::perms(0755));
  fs::permissions(folder / "c/docs/deep", fs::perms(0755));
}

TEST_CASE("publication::keep: what comes before the commit is kept, too, and nothing replaced") {
  const test::temp_directory folder;
  const auto key = [](std::string_view text) { return store_key::parse(text).value(); };
  for (const any_store& store :
       {any_store(memory_store()), any_store(file_store::open(folder / "").value())}) {
    const auto put_all = [&](std::initializer_list<const char*> names, std::string_view text) {
      for (const char* name : names) store.put(key(name), as_bytes(text)).value();
    };
    const auto text = [&](std::string_view name) -> std::string {
      const auto bytes = get(store, key(name), 100).value();
      return bytes ? std::string(as_text(*bytes)) : "nothing";
    };
    put_all({"c/zarr.json", "c/w/c/0", "c/f", "c/d/e"}, "old");
    const owned_paths owned{{"w", "zarr.json"}, {"v"}};
    auto staged = store.stage(key("c"), {.overwrite = true}).value();
    staged->store().put(key("zarr.json"), as_bytes(std::string_view("new"))).value();
    staged->store().put(key("mine"), as_bytes(std::string_view("new"))).value();
    CHECK(staged->keep(owned).value() == std::vector<std::string>{"d/", "f"});
    CHECK(staged->late().kept.empty());
    put_all({"c/late", "c/d/late", "c/mine", "c/w/late", "c/v/late"}, "late");
    staged->commit().value();
    const late_entries late = staged->late();
    CHECK(std::find(late.kept.begin(), late.kept.end(), "late") != late.kept.end());
    CHECK(std::find(late.kept.begin(), late.kept.end(), "f") == late.kept.end());
    CHECK(late.left.empty());
    CHECK(text("c/late") == "late");
    CHECK(text("c/d/late") == "late");
    CHECK(text("c/d/e") == "old");
    CHECK(text("c/mine") == "new");
    CHECK(text("c/zarr.json") == "new");
    CHECK(text("c/w/late") == "nothing");
    CHECK(text("c/v/late") == "nothing");
    // Two that publish at once do not mix.
    staged = store.stage(key("c"), {.overwrite = true}).value();
    const auto second = store.stage(key("c"), {.overwrite = true}).value();
    staged->store().put(key("1"), {}).value();
    second->store().put(key("2"), as_bytes(std::string_view("2"))).value();
    CHECK(staged->keep(owned));
    CHECK(second->keep(owned));
    second->commit().value();
    CHECK(text("c/2") == "2");
    staged->commit().value();
    CHECK(text("c/2") == "nothing");
    CHECK(text("c/late") == "late");
  }
  CHECK(names_in(folder.path()) == std::vector<std::string>{"c"});
}

TEST_CASE("publication::keep: where what comes late cannot be kept, the old tree is not removed") {
  const test::temp_directory folder;
  const auto key = [](std::string_view text) { return store_key::parse(text).value(); };
  const std::size_t before = test::open_files();
  {
    const any_store store = file_store::open(folder / "").value();
    store.put(key("c/zarr.json"), as_bytes(std::string_view("old"))).value();
    const auto staged = store.stage(key("c"), {.overwrite = true}).value();
    staged->store().put(key("zarr.json"), as_bytes(std::string_view("new"))).value();
    CHECK(staged->keep({{"zarr.json"}, {}}).value().empty());
    fs::path deep = folder / "c";
    for (int i = 0; i < 140; ++i) deep /= "d";
    put(deep / "x", "late");
    CHECK(staged->commit());
    CHECK(test::read_file(folder / "c/zarr.json") == "new");
    const detail::unique_fd parent(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY));
    CHECK(detail::remove_abandoned(parent.get(), "", -60).empty());
    const auto names = names_in(folder.path());
    REQUIRE(names.size() == 2);
    CHECK(names[0].starts_with(".c.old."));
    CHECK(test::read_file(folder / names[0] + "/zarr.json") == "old");
    const std::string left = staged->late().left;
    CHECK(left.starts_with(
        "some files that others wrote into " + (folder / "c") +
        " during the save could not be kept; the replaced directory is beside it, as " + names[0] +
        ": keep d/d/d"));
  }
  CHECK(test::open_files() == before);
}

TEST_CASE("publication::keep: an old tree that can be kept only where it is stays there") {
  if (!ZARRPOINT_LINUX) return;  // names are not exchanged
  const test::temp_directory folder;
  const auto key = [](std::string_view text) { return store_key::parse(text).value(); };
  const any_store store = file_store::open(folder / "").value();
  store.put(key("c/zarr.json"), as_bytes(std::string_view("old"))).value();
  const std::string said = test::in_child([&]() -> std::string {
    const auto staged = store.stage(key("c"), {.overwrite = true}).value();
    staged->store().put(key("zarr.json"), as_bytes(std::string_view("new"))).value();
    if (!staged->keep({{"zarr.json"}, {}}).value().empty()) return "something is kept";
    fs::path deep = folder / "c";
    for (int i = 0; i < 140; ++i) deep /= "d";
    put(deep / "x", "late");
    // The names of the trees are exchanged, and no other rename is allowed.
    if (!test::deny(SYS_renameat, ENOTEMPTY)) return "skipped";
    if (const auto done = staged->commit(); !done) return to_string(done.failure());
    return staged->late().left;
  });
  if (said == "skipped") return;
  const auto names = names_in(folder.path());
  REQUIRE(names.size() == 2);
  CHECK(said.find("the replaced directory is beside it, as " + names[0] + ": keep d/d/d") !=
        std::string::npos);
  CHECK(test::read_file(folder / names[0] + "/zarr.json") == "old");
  CHECK(test::read_file(folder / "c/zarr.json") == "new");
}

}  // namespace keep_entries_test
