// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/members.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/hierarchy_cases.hpp"
#include "support/hooked_publisher.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace replace_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

store_key key(std::string_view text) { return store_key::parse(text).value(); }

bool has(const std::vector<std::string>& all, const char* one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

TEST_CASE("replace: the documents and arrays of a checkpoint, in both formats") {
  for (const int format : {2, 3}) {
    CAPTURE(format);
    const test::temp_directory folder;
    const std::vector<float> w(4);
    save(folder / "c", {{"layers/0/w", w}, {"step", 7}}, {.zarr_format = format}).value();
    const any_store root = file_store::open(folder / "c").value();
    const auto paths = detail::paths_of_checkpoint(root, default_context()).value();
    CHECK(std::is_sorted(paths.begin(), paths.end()));
    for (const char* own : {"zarr.json", ".zgroup", ".zmetadata", "layers/0/w", "layers/zarr.json",
                            "layers/0/.zgroup", "step"})
      CHECK(has(paths, own));
    CHECK_FALSE(has(paths, "layers"));
    // Of one that cannot be read: what has a document.
    root.put(key(format == 3 ? "zarr.json" : ".zattrs"), as_bytes(std::string_view("{"))).value();
    root.put(key("notes/x"), {}).value();
    const auto found = detail::paths_of_checkpoint(root, default_context()).value();
    CHECK(has(found, "layers"));
    CHECK(has(found, "step"));
    CHECK_FALSE(has(found, "notes"));
  }
}

TEST_CASE("replace: the chunks of a root that is an array") {
  const memory_store root;
  for (const char* name : {".zarray", "0.0", "1", "c/0", "c.0.1", "c1", "c1x", "cat", "notes"})
    root.put(key(name), as_bytes(std::string_view(
                            R"({"zarr_format":2,"shape":[],"chunks":[],"dtype":"|u1","order":"C",)"
                            R"("compressor":null,"filters":null,"fill_value":0})")))
        .value();
  const auto paths = detail::paths_of_checkpoint(root, default_context()).value();
  CHECK(has(paths, "0.0"));
  CHECK(has(paths, "1"));
  CHECK(has(paths, "c"));
  CHECK(has(paths, "c.0.1"));
  CHECK_FALSE(has(paths, "cat"));
  CHECK_FALSE(has(paths, "notes"));
}

TEST_CASE("replace: a save that overwrites keeps what is not of its checkpoint, and says so") {
  const test::temp_directory folder;
  const fs::path path = folder / "c";
  const std::vector<float> w(4, 1);
  const std::vector<float> v(4, 2);
  const auto first = save(path.string(), {{"layers/w", w}, {"old", w}}).value();
  CHECK(first.kept.empty());
  std::ofstream(path / "latest_checkpointed_iteration.txt") << "1200";
  fs::create_directories(path / "tokenizer");
  std::ofstream(path / "tokenizer/vocab.json") << "{}";
  std::ofstream(path / "layers/notes.txt") << "n";
  fs::create_directories(path / "new");
  std::ofstream(path / "new/0") << "no chunk of a leaf";
  const auto report = save(path.string(), {{"layers/w", v}, {"new", v}}).value();
  CHECK(report.kept == std::vector<std::string>{"latest_checkpointed_iteration.txt",
                                                "layers/notes.txt", "tokenizer/"});
  CHECK(test::read_file(path / "latest_checkpointed_iteration.txt") == "1200");
  CHECK(test::read_file(path / "tokenizer/vocab.json") == "{}");
  CHECK_FALSE(fs::exists(path / "old"));
  CHECK_FALSE(fs::exists(path / "new/0"));
  CHECK(open(path.string())->load<std::vector<float>>("layers/w").value() == v);
  CHECK(save(path.string(), {{"w", v}}).value().kept.size() == 3);  // again and again
}

TEST_CASE("replace: a folder whose document cannot be opened is of others, and no failure") {
  const test::temp_directory folder;
  const std::vector<float> w(4, 1);
  save(folder / "c", {{"w", w}}).value();
  const any_store root = file_store::open(folder / "c").value();
  fs::create_directories(folder / "c/linked");
  fs::create_symlink("nowhere", folder / "c/linked/zarr.json");
  fs::create_directories(folder / "c/piped");
  REQUIRE(::mkfifo((folder / "c/piped/.zarray").c_str(), 0600) == 0);
  test::write_file(folder / "c/zarr.json", "{");
  const auto paths = detail::paths_of_checkpoint(root, default_context()).value();
  CHECK(has(paths, "w"));
  CHECK_FALSE(has(paths, "linked"));
  CHECK_FALSE(has(paths, "piped"));
}

TEST_CASE("replace: what others write during a save is kept, and reported") {
  const test::temp_directory folder;
  const std::vector<float> w(4, 1);
  const std::vector<float> v(4, 2);
  const auto write = [&](const char* name) {
    fs::create_directories(fs::path(folder / name).parent_path());
    test::write_file(folder / name, name);
  };
  const auto where = [&](test::publication_hooks hooks) {
    return location(test::hooked_publisher{file_store::open(folder / "").value(), hooks}, key("c"));
  };
  // Into a place that was empty.
  const auto first = save(where({.after_stage = [&] { write("c/early"); }}), {{"w", w}}).value();
  CHECK(first.kept == std::vector<std::string>{"early"});
  // Into the old checkpoint.
  const auto report =
      save(where({.before_commit = [&] { write("c/late"), write("c/logs/x"), write("c/w/x"); }}),
           {{"w", v}})
          .value();
  CHECK(report.kept == std::vector<std::string>{"early", "late", "logs/"});
  CHECK(report.warnings.empty());
  for (const char* name : {"c/early", "c/late", "c/logs/x"})
    CHECK(test::read_file(folder / name) == name);
  CHECK_FALSE(fs::exists(folder / "c/w/x"));
  CHECK(open(folder / "c")->load<std::vector<float>>("w").value() == v);
  // What cannot be kept is a warning of a save that is done.
  std::string deep = "c/";
  for (int i = 0; i < 140; ++i) deep += "d/";
  const auto left =
      save(where({.before_commit = [&] { write((deep + "x").c_str()); }}), {{"w", w}});
  REQUIRE(left);
  REQUIRE(left->warnings.size() == 1);
  CHECK(left->warnings[0].find("the replaced directory is beside it, as .c.old.") !=
        std::string::npos);
  CHECK(open(folder / "c")->id() == left->id);
}

TEST_CASE("replace: groups that hold no leaf are of their checkpoint") {
  const test::temp_directory folder;
  const fs::path path = folder / "c";
  const std::map<std::string, std::vector<std::vector<float>>> none;
  save(path.string(), {{"old/empty", none}, {"both", none}}).value();
  CHECK(fs::exists(path / "old/empty/zarr.json"));
  fs::create_directories(path / "new");
  std::ofstream(path / "new/notes.txt") << "n";
  const auto report = save(path.string(), {{"new", none}, {"both", none}}).value();
  CHECK(report.kept == std::vector<std::string>{"new/notes.txt"});
  CHECK_FALSE(fs::exists(path / "old"));
  CHECK(open(path.string())->empty_groups() == std::vector<std::string>{"both", "new"});
}

TEST_CASE("replace: what is refused leaves the old checkpoint, also where nothing is published") {
  const zarrpoint_test::plain_store store;
  const std::vector<float> w{1, 2, 3};
  REQUIRE(save(store, {{"w", w}}));
  const std::vector<codec_spec> chains[] = {
      {{"bytes"}, {"zstdd"}}, {{"zstd"}, {"bytes"}}, {{"bytes"}, {"zstd", 1000}}};
  for (const std::vector<codec_spec>& chain : chains) {
    save_options how{.rules = {{.codecs = chain}}};
    const auto refused = save(store, {{"w", w}, {"v", w}}, how);
    REQUIRE(!refused);
    CHECK(refused.failure().message.find("\"w\"") != std::string::npos);
    const auto old = open(store);
    REQUIRE(old);
    CHECK(old->load<std::vector<float>>("w").value() == w);
  }
}

}  // namespace replace_test
