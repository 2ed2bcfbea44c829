// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/file/keep_entries.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace keep_entries_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

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

}  // namespace keep_entries_test
