// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include "support/child_process.hpp"
#include "support/open_files.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace posix_test {

using namespace zarrpoint;
using namespace zarrpoint::detail;

TEST_CASE("unique_fd: closes once, moves, and reports what close says") {
  const std::size_t before = test::open_files();
  {
    unique_fd a(::open("/dev/null", O_RDONLY));
    REQUIRE(a);
    const int number = a.get();
    unique_fd b(std::move(a));
    CHECK(b.get() == number);
    unique_fd c;
    CHECK_FALSE(c);
    c = std::move(b);
    CHECK(c.get() == number);
    CHECK(c.close() == 0);
    CHECK(c.close() == 0);
    CHECK(unique_fd(1'000'000).close() == EBADF);
  }
  CHECK(test::open_files() == before);
}

TEST_CASE("system_error: action, name and the system's words; the codes programs branch on") {
  const error refused = system_error("open", "dir/a", ENOENT);
  CHECK(refused.message == "open dir/a: No such file or directory");
  CHECK(refused.code == errc::not_found);
  CHECK(system_error("", "", EEXIST).code == errc::already_exists);
  CHECK(system_error("", "", ENOTEMPTY).code == errc::already_exists);
  CHECK(system_error("", "", ENOMEM).code == errc::resource_limit);
  CHECK(system_error("", "", ENOSPC).code == errc::io);
  CHECK(system_error("", "", ELOOP).message.find("symbolic link") != std::string::npos);
}

TEST_CASE("retry_interrupted: again for as long as a signal interrupts") {
  int calls = 0;
  const int outcome = retry_interrupted([&] {
    errno = EINTR;
    return ++calls < 3 ? -1 : 7;
  });
  CHECK(outcome == 7);
  CHECK(calls == 3);
  CHECK(retry_interrupted([&] {
          errno = EIO;
          return -1;
        }) == -1);
}

TEST_CASE("read_fully and write_fully: all, the errno, or the end") {
  const test::temp_directory dir;
  const unique_fd fd(::open((dir / "f").c_str(), O_RDWR | O_CREAT, 0600));
  const std::vector<std::byte> data(1000, std::byte{5});
  CHECK(write_fully(fd.get(), 10, data) == 0);
  std::vector<std::byte> back(1010);
  CHECK(read_fully(fd.get(), 0, back) == 0);
  CHECK(back[9] == std::byte{0});
  CHECK(back[10] == std::byte{5});
  CHECK(read_fully(fd.get(), 11, back) == -1);
  CHECK(read_fully(-1, 0, back) == EBADF);
  CHECK(write_fully(-1, 0, data) == EBADF);
  CHECK(read_fully(-1, 0, {}) == 0);
  const unique_fd full(::open("/dev/full", O_WRONLY));
  CHECK(write_fully(full.get(), 0, data) == ENOSPC);
}

TEST_CASE("write_fully: goes on after a short write, and reports why it cannot") {
  const test::temp_directory dir;
  const std::string said = test::in_child([&] {
    const unique_fd fd(::open((dir / "f").c_str(), O_RDWR | O_CREAT, 0600));
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{500, 500};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    return std::to_string(write_fully(fd.get(), 0, std::vector<std::byte>(1000)));
  });
  CHECK(said == std::to_string(EFBIG));
  CHECK(test::read_file(dir / "f").size() == 500);
}

TEST_CASE("sync_directory: file systems that cannot are forgiven, failures are not") {
  const test::temp_directory dir;
  for (const auto& [failure, expected] : {std::pair(EINVAL, 0), {ENOTSUP, 0}, {EIO, EIO}}) {
    const std::string said = test::in_child([&, fails = failure] {
      const unique_fd fd(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY));
      if (!test::deny(SYS_fsync, fails)) return std::string("skipped");
      return std::to_string(sync_directory(fd.get()));
    });
    if (said == "skipped") {
      MESSAGE("skipped: seccomp is not allowed here");
      return;
    }
    CHECK(said == std::to_string(expected));
  }
  CHECK(sync_directory(-1) == EBADF);
}

TEST_CASE("random_id: without a source of randomness, every one is another still") {
  const std::string said = test::in_child([] {
    if (!test::deny(SYS_getrandom, ENOSYS)) return std::string("skipped");
    std::vector<std::vector<std::string>> made(4);
    std::vector<std::thread> crew;
    for (auto& mine : made) {
      crew.emplace_back([&mine] {
        for (int i = 0; i < 1000; ++i) mine.push_back(random_id());
      });
    }
    for (std::thread& one : crew) one.join();
    std::set<std::string> all;
    for (const auto& mine : made) all.insert(mine.begin(), mine.end());
    const bool form = std::all_of(all.begin(), all.end(), [](const std::string& id) {
      return is_temporary_name(".x.tmp." + id);
    });
    return std::string(all.size() == 4000 && form ? "unique" : "not unique");
  });
  CHECK((said == "unique" || said == "skipped"));
}

TEST_CASE("file_id: one file under many names; links are files of their own") {
  const test::temp_directory dir;
  test::write_file(dir / "a", "x");
  test::write_file(dir / "b", "x");
  const unique_fd parent(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY));
  REQUIRE(::link((dir / "a").c_str(), (dir / "same").c_str()) == 0);
  REQUIRE(::symlink("a", (dir / "link").c_str()) == 0);
  const unique_fd fd(::open((dir / "a").c_str(), O_RDONLY));
  const auto is_a = [&](const char* name) {
    return same_file(detail::id_of(fd.get()), detail::id_of(parent.get(), name));
  };
  CHECK(is_a("a"));
  CHECK(is_a("same"));
  CHECK_FALSE(is_a("b"));
  CHECK_FALSE(is_a("link"));
  CHECK_FALSE(is_a("nothing"));
  CHECK_FALSE(same_file(detail::id_of(-1), detail::id_of(-1)));
  CHECK(rename_outcome(0, std::nullopt, parent.get(), "nothing") == 0);
  CHECK(rename_outcome(EIO, detail::id_of(fd.get()), parent.get(), "same") == 0);
  CHECK(rename_outcome(EIO, detail::id_of(fd.get()), parent.get(), "b") == EIO);
  CHECK(rename_outcome(EIO, std::nullopt, parent.get(), "nothing") == EIO);
}

TEST_CASE("temporary names: fresh, recognised, within 255 bytes") {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string id = random_id();
    CHECK(id.size() == 32);
    CHECK(seen.insert(id).second);
  }
  for (const std::string& name : {std::string("model.zarr"), std::string(255, 'x')}) {
    const std::string made = temporary_name(name, temporary_kind::locked);
    CHECK(made.size() <= 255);
    CHECK(made.starts_with("." + name.substr(0, 200)));
    CHECK(is_temporary_name(made));
    CHECK_FALSE(is_temporary_name(made.substr(1)));
    CHECK_FALSE(is_temporary_name(made + "0"));
    CHECK_FALSE(is_temporary_name(made.substr(0, made.size() - 1)));
    CHECK(is_temporary_name(made, temporary_kind::locked));
    CHECK_FALSE(is_temporary_name(made, temporary_kind::unlocked));
    CHECK_FALSE(is_temporary_name(made, temporary_kind::aside));
    for (std::size_t i = 0; i < made.size(); ++i) {
      std::string other = made;
      other[i] = other[i] == '1' ? '2' : '1';
      CHECK_FALSE(is_temporary_name(other, temporary_kind::locked));
    }
  }
  // Cut between characters: 217 bytes are kept at most, and these end in the middle of one.
  for (const std::string& name :
       {std::string(216, 'x') + "\xc3\xa9" + std::string(30, 'x'),
        std::string(215, 'x') + "\xe2\x82\xac" + std::string(30, 'x'),
        std::string(214, 'x') + "\xf0\x9f\x98\x80" + std::string(30, 'x')}) {
    CHECK(key_segment_fault(temporary_name(name, temporary_kind::aside)) == nullptr);
    CHECK(temporary_prefix(name) == "." + name.substr(0, name.find_first_not_of('x')) + ".tmp.");
  }
  CHECK(temporary_prefix("h\xc3\xa9") == ".h\xc3\xa9.tmp.");
  for (const char* name :
       {"", ".", ".zarray", "x.tmp.0123", ".tmp.0123456789abcdef0123456789abcdeG"})
    CHECK_FALSE(is_temporary_name(name));
}

}  // namespace posix_test
