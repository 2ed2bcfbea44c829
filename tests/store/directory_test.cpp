// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/file/directory.hpp>

#include "support/child_process.hpp"
#include "support/open_files.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

namespace directory_test {

using namespace zarrpoint;
using namespace zarrpoint::detail;
namespace fs = std::filesystem;

namespace {

store_key key(std::string_view text) { return store_key::parse(text).value(); }

/// 0, or the errno of opening `name` for reading.
int opening(int root, const char* name, confinement how) {
  process_confinement() = how;
  const unique_fd fd(open_beneath(root, key(name), O_RDONLY));
  const int code = fd ? 0 : errno;
  process_confinement() = confinement::unknown;
  return code;
}

}  // namespace

TEST_CASE("open_beneath: the kernel and the walk by segments agree") {
  const test::temp_directory dir;
  fs::create_directories(dir / "root/a/b");
  fs::create_directories(dir / "outside");
  test::write_file(dir / "root/a/b/file", "x");
  test::write_file(dir / "root/.hidden", "x");
  test::write_file(dir / "outside/secret", "x");
  fs::create_symlink("../outside", dir / "root/up");
  fs::create_symlink(dir / "outside", dir / "root/absolute");
  fs::create_symlink("a", dir / "root/inside");
  fs::create_symlink("file", dir / "root/a/b/link");
  fs::create_symlink("nowhere", dir / "root/dangling");
  fs::create_symlink("loop", dir / "root/loop");
  fs::create_symlink("/proc/self/cwd", dir / "root/magic");
  const unique_fd root(::open((dir / "root").c_str(), O_RDONLY | O_DIRECTORY));
  for (const auto how : {confinement::by_kernel, confinement::by_segment, confinement::unknown}) {
    CAPTURE(static_cast<int>(how));
    if (how == confinement::by_kernel && !test::has_openat2()) continue;
    for (const char* good : {"", "a", "a/b", "a/b/file", ".hidden"})
      CHECK(opening(root.get(), good, how) == 0);
    for (const char* missing : {"x", "a/x", "x/y/z"})
      CHECK(opening(root.get(), missing, how) == ENOENT);
    CHECK(opening(root.get(), "a/b/file/x", how) == ENOTDIR);
    for (const char* link :
         {"up", "up/secret", "absolute", "absolute/secret", "inside", "inside/b/file", "a/b/link",
          "dangling", "dangling/x", "loop", "magic", "magic/x"}) {
      CAPTURE(link);
      CHECK(opening(root.get(), link, how) == ELOOP);
    }
  }
}

TEST_CASE("open_beneath: a sandbox without openat2 is noticed") {
  const test::temp_directory dir;
  fs::create_directories(dir / "a");
  test::write_file(dir / "a/file", "x");
  for (const int failure : {ENOSYS, EPERM}) {
    const std::string said = test::in_child([&] {
      if (!test::deny(SYS_openat2, failure)) return std::string("skipped");
      process_confinement() = confinement::unknown;
      const unique_fd root(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY));
      const unique_fd file(open_beneath(root.get(), key("a/file"), O_RDONLY));
      const bool by_segment = process_confinement() == confinement::by_segment;
      return std::string(file && by_segment ? "walked" : "failed");
    });
    if (said == "skipped") {
      MESSAGE("skipped: seccomp is not allowed here");
      return;
    }
    CHECK(said == "walked");
  }
}

TEST_CASE("open_beneath: what fails for the moment settles nothing") {
  const test::temp_directory dir;
  test::write_file(dir / "file", "x");
  for (const int failure : {EMFILE, ENFILE, ENOMEM}) {
    const std::string said = test::in_child([&] {
      if (!test::deny(SYS_openat2, failure)) return std::string("skipped");
      process_confinement() = confinement::unknown;
      const unique_fd root(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY));
      const unique_fd file(open_beneath(root.get(), key("file"), O_RDONLY));
      const bool open_question = process_confinement() == confinement::unknown;
      return std::string(file && open_question ? "walked" : "settled");
    });
    CHECK((said == "walked" || said == "skipped"));
  }
}

TEST_CASE("make_directories: what another makes at the same time is told, too") {
  const test::temp_directory dir;
  const unique_fd root(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY));
  std::vector<std::string> told;
  CHECK(unique_fd(make_directories(root.get(), key("a/b"), [&](int, const store_key& one) {
    told.emplace_back(one.str());
    fs::create_directory(dir / "a/b");  // before we do
    return 0;
  })));
  CHECK(told == std::vector<std::string>{"a", "a/b"});
}

TEST_CASE("make_directories: what could not be made durable is not left for others to find") {
  const test::temp_directory dir;
  const unique_fd root(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY));
  const auto fail = [](int, const store_key&) { return EIO; };
  CHECK(make_directories(root.get(), key("a/b"), fail) == -1);
  CHECK(errno == EIO);
  CHECK(fs::is_empty(dir.path()));
}

TEST_CASE("make_directories: what is missing, each told once; links and files stop it") {
  const std::size_t before = test::open_files();
  {
    const test::temp_directory dir;
    const unique_fd root(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY));
    std::vector<std::string> made;
    const auto note = [&](int, const store_key& one) {
      made.emplace_back(one.str());
      return 0;
    };
    CHECK(unique_fd(make_directories(root.get(), key("a/b/c"), note)));
    CHECK(made == std::vector<std::string>{"a", "a/b", "a/b/c"});
    CHECK(unique_fd(make_directories(root.get(), key("a/b/d"), note)));
    CHECK(made.size() == 4);
    CHECK(unique_fd(make_directories(root.get(), store_key::root(), note)));
    CHECK(made.size() == 4);

    test::write_file(dir / "file", "x");
    CHECK(make_directories(root.get(), key("file/x"), note) == -1);
    CHECK(errno == ENOTDIR);
    fs::create_directory_symlink(dir / "a", dir / "link");
    CHECK(make_directories(root.get(), key("link/x"), note) == -1);
    CHECK(errno == ELOOP);
    CHECK_FALSE(fs::exists(dir / "a/x"));
    CHECK(make_directories(root.get(), key("z/y"), [](int, const store_key&) { return EIO; }) ==
          -1);
    CHECK(errno == EIO);

    // As deep as a key can be.
    std::string deep = "d";
    while (deep.size() + 2 <= store_key::max_size) deep += "/d";
    CHECK(unique_fd(make_directories(root.get(), key(deep), note)));
  }
  CHECK(test::open_files() == before);
}

TEST_CASE("directory_stream: all entries, again after rewind; errors leave nothing open") {
  const test::temp_directory dir;
  for (const char* name : {"a", "b", "c"}) test::write_file(dir / name, "x");
  const std::size_t before = test::open_files();
  {
    directory_stream stream(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY));
    REQUIRE(stream);
    for (int round = 0; round < 2; ++round) {
      int count = 0;
      while (stream.next() != nullptr) ++count;
      CHECK(errno == 0);
      CHECK(count == 3);
      stream.rewind();
    }
    const directory_stream closed(-1);
    CHECK_FALSE(static_cast<bool>(closed));
    const directory_stream file(::open((dir / "a").c_str(), O_RDONLY));
    CHECK(errno == ENOTDIR);
    CHECK_FALSE(static_cast<bool>(file));
  }
  CHECK(test::open_files() == before);
}

}  // namespace directory_test
