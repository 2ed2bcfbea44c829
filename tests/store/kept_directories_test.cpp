// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/file/kept_directories.hpp>

#include "support/store_conformance.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace kept_directories_test {

using namespace zarrpoint;
using namespace zarrpoint::detail;
namespace fs = std::filesystem;

namespace {

struct tree {
  test::temp_directory at{};
  unique_fd root{::open(at.path().c_str(), O_RDONLY | O_DIRECTORY)};
  kept_directories kept{};
  std::vector<std::string> told{};

  shared_directory make(const std::string& path) {
    return kept.make(root.get(), test::key(path), [&](int, const store_key& one) {
      told.emplace_back(one.str());
      return 0;
    });
  }
};

}  // namespace

TEST_CASE("kept_directories: what is missing is made and told once; then the same is given") {
  tree t;
  const auto first = t.make("a/b/c");
  REQUIRE(first);
  CHECK(t.told == std::vector<std::string>{"a", "a/b", "a/b/c"});
  CHECK(t.make("a/b/c")->get() == first->get());
  CHECK(t.make("a/b/d"));
  CHECK(t.told.size() == 4);
  CHECK(same_file(id_of(first->get()), id_of((t.at.path() / "a/b/c").c_str())));
}

TEST_CASE("kept_directories: no more than its number stay open, and all are right") {
  tree t;
  const std::size_t many = 3 * kept_directories::most;
  for (std::size_t i = 0; i < many; ++i) REQUIRE(t.make("d/" + std::to_string(i)));
  for (std::size_t i = 0; i < many; ++i) {
    const auto again = t.make("d/" + std::to_string(i));
    REQUIRE(again);
    const fs::path path = t.at.path() / "d" / std::to_string(i);
    CHECK(same_file(id_of(again->get()), id_of(path.c_str())));
  }
  std::size_t open = 0;
  for (const auto& one : fs::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    if (fs::read_symlink(one.path(), ignored).string().starts_with(t.at.path().string() + "/d"))
      ++open;
  }
  CHECK(open <= kept_directories::most);
  CHECK(open > 0);
}

TEST_CASE("kept_directories: links and files on the way are refused as ever") {
  tree t;
  const test::temp_directory outside;
  fs::create_directory_symlink(outside.path(), t.at.path() / "link");
  std::ofstream(t.at.path() / "file") << "x";
  CHECK(!t.make("link"));
  CHECK(errno == ELOOP);
  CHECK(!t.make("link/x"));
  CHECK(errno == ELOOP);
  CHECK(!t.make("file/x"));
  CHECK(errno == ENOTDIR);
  CHECK(fs::is_empty(outside.path()));
}

TEST_CASE("kept_directories: one that was removed is made again") {
  tree t;
  REQUIRE(t.make("a/b"));
  fs::remove_all(t.at.path() / "a");
  CHECK(t.make("a/c"));
  CHECK(fs::is_directory(t.at.path() / "a/c"));
}

TEST_CASE("kept_directories: what could not be noted is not left for others to find") {
  tree t;
  const auto fail = [](int, const store_key&) { return EIO; };
  CHECK(!t.kept.make(t.root.get(), test::key("a/b"), fail));
  CHECK(errno == EIO);
  CHECK(fs::is_empty(t.at.path()));
}

TEST_CASE("kept_directories: one that was opened while they were forgotten is not kept") {
  tree t;
  const fs::path a = t.at.path() / "a";
  const fs::path b = t.at.path() / "b";
  // As if another thread renamed it after it was made, and before it is kept.
  REQUIRE(t.kept.make(t.root.get(), test::key("a"), [&](int, const store_key&) {
    fs::rename(a, b);
    fs::create_directory(a);
    t.kept.drop();
    return 0;
  }));
  CHECK(same_file(id_of(t.make("a")->get()), id_of(a.c_str())));
}

TEST_CASE("file_store: in a staged tree files go where names lead after a publication in it") {
  const test::temp_directory at;
  const auto files = file_store::open(at.path().string()).value();
  const auto staged = files.stage(test::key("tree")).value();
  const any_store tree = staged->store();
  tree.put(test::key("a/x"), as_bytes("1")).value();
  const auto inner = tree.stage(test::key("a"), {.overwrite = true}).value();
  inner->store().put(test::key("y"), as_bytes("2")).value();
  inner->commit().value();
  tree.put(test::key("a/z"), as_bytes("3")).value();
  staged->commit().value();
  tree.put(test::key("a/late"), as_bytes("4")).value();
  CHECK_FALSE(test::has_object(files, "tree/a/x"));
  CHECK(as_text(test::read_object(files, "tree/a/y")) == "2");
  CHECK(as_text(test::read_object(files, "tree/a/z")) == "3");
  CHECK(as_text(test::read_object(files, "tree/a/late")) == "4");
}

TEST_CASE("file_store: in a staged tree files go where names lead after a rename") {
  const test::temp_directory at;
  const auto files = file_store::open(at.path().string()).value();
  const auto staged = files.stage(test::key("tree")).value();
  const any_store tree = staged->store();
  tree.put(test::key("a/x"), as_bytes("1")).value();
  tree.rename(test::key("a"), test::key("b")).value();
  tree.put(test::key("a/y"), as_bytes("2")).value();
  CHECK(tree.erase_all(test::key("b")).value());
  tree.put(test::key("b/z"), as_bytes("3")).value();
  staged->commit().value();
  CHECK_FALSE(test::has_object(files, "tree/b/x"));
  CHECK(as_text(test::read_object(files, "tree/a/y")) == "2");
  CHECK(as_text(test::read_object(files, "tree/b/z")) == "3");
}

}  // namespace kept_directories_test
