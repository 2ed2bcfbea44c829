// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/store/file/remove_tree.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

namespace remove_tree_test {

using namespace zarrpoint;
namespace fs = std::filesystem;
using test::names_in;

TEST_CASE("remove_tree: trees of any depth are removed, with few descriptors") {
  const test::temp_directory dir;
  const detail::unique_fd parent(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY));
  REQUIRE(::mkdirat(parent.get(), "tree", 0700) == 0);
  for (const char* branch : {"x", "y"}) {
    detail::unique_fd at(::openat(parent.get(), "tree", O_RDONLY | O_DIRECTORY));
    for (int depth = 0; depth < 3000; ++depth) {
      if (depth % 100 == 0) detail::unique_fd(::openat(at.get(), "f", O_WRONLY | O_CREAT, 0600));
      REQUIRE(::mkdirat(at.get(), branch, 0700) == 0);
      at = detail::unique_fd(::openat(at.get(), branch, O_RDONLY | O_DIRECTORY));
    }
  }
  detail::remove_tree(parent.get(), "tree");
  CHECK(names_in(dir.path()).empty());
}

TEST_CASE("remove_tree: no link is followed") {
  const test::temp_directory dir;
  fs::create_directories(dir / "tree/a/b");
  fs::create_directory(dir / "outside");
  test::write_file(dir / "outside/kept", "x");
  test::write_file(dir / "tree/a/file", "x");
  fs::create_directory_symlink(dir / "outside", dir / "tree/a/link");
  const detail::unique_fd parent(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY));
  detail::remove_tree(parent.get(), "tree");
  CHECK(names_in(dir.path()) == std::vector<std::string>{"outside"});
  CHECK(fs::exists(dir / "outside/kept"));
  detail::remove_tree(parent.get(), "not there");
}

}  // namespace remove_tree_test
