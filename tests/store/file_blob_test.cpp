// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/file/file_blob.hpp>

#include "support/child_process.hpp"
#include "support/open_files.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace file_blob_test {

using namespace zarrpoint;
using detail::file_blob;
using detail::file_root;
namespace fs = std::filesystem;

namespace {

store_key key(std::string_view text) { return store_key::parse(text).value(); }

std::string numbers(std::size_t size) {
  std::string text(size, ' ');
  std::mt19937 random(1);
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

struct fixture {
  test::temp_directory dir;
  file_root root{detail::unique_fd(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY)),
                 dir.path().string(), file_store_options{}};

  std::unique_ptr<blob> open(const std::string& name) const {
    return file_blob::open(root, key(name)).value();
  }
  error refusal(const std::string& name) const {
    return file_blob::open(root, key(name)).failure();
  }
};

/// The message of a failed read in a process where `number` fails with EIO; or what else happened.
std::string failed_read(const blob& object, long number) {
  return test::in_child([&] {
    std::vector<std::byte> a(10), b(10);
    if (!test::deny(number, EIO)) return std::string("skipped");
    const auto refused = number == SYS_preadv
                             ? object.read(std::vector<read_request>{{0, a}, {10, b}})
                             : object.read(0, a);
    return refused ? std::string("read") : to_string(refused.failure());
  });
}

}  // namespace

TEST_CASE("file_blob: only regular files are objects, and opening never blocks") {
  const fixture f;
  fs::create_directory(f.dir / "directory");
  REQUIRE(::mkfifo((f.dir / "pipe").c_str(), 0600) == 0);
  test::write_file(f.dir / "file", "x");
  fs::create_symlink("file", f.dir / "link");
  fs::create_symlink("/dev/zero", f.dir / "device");
  CHECK(f.open("missing") == nullptr);
  CHECK(f.open("file/below") == nullptr);
  CHECK(f.open("directory") == nullptr);
  CHECK(f.open("file")->name() == f.dir / "file");
  CHECK(f.refusal("pipe").message == "open " + (f.dir / "pipe") + ": it is not a regular file");
  for (const char* link : {"link", "device"})
    CHECK(f.refusal(link).message.find("symbolic link") != std::string::npos);
  if (::mknod((f.dir / "null").c_str(), S_IFCHR | 0600, (1 << 8) | 3) == 0)
    CHECK(f.refusal("null").message.find("not a regular file") != std::string::npos);
}

TEST_CASE("file_blob: what may not be read is an error, and not a missing object") {
  const fixture f;
  test::write_file(f.dir / "file", "x");
  fs::permissions(f.dir.path(), fs::perms(0755));
  fs::permissions(f.dir / "file", fs::perms(0));
  // Root reads everything: the child becomes nobody.
  const std::string said = test::in_child([&] {
    if (::getuid() == 0 && ::setuid(65534) != 0) return std::string("skipped");
    const auto refused = file_blob::open(f.root, key("file"));
    return refused ? std::string("opened") : to_string(refused.failure());
  });
  if (said == "skipped") {
    MESSAGE("skipped: modes do not bind root, and it cannot become anyone else here");
    return;
  }
  CHECK(said == "io: open " + (f.dir / "file") + ": Permission denied");
}

TEST_CASE("file_blob: vectored reads of neighbours and others are what single reads give") {
  const fixture f;
  const std::string text = numbers(50'000);
  test::write_file(f.dir / "file", text);
  const auto object = f.open("file");
  std::mt19937 random(2);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::vector<std::byte>> parts(random() % 200);
    std::vector<read_request> requests;
    std::uint64_t at = 0;
    for (auto& part : parts) {
      part.resize(random() % 3 == 0 ? 0 : random() % 200);
      if (random() % 4 == 0 || at + part.size() > text.size())
        at = random() % (text.size() - part.size());
      requests.push_back({at, part});
      at += part.size();
    }
    REQUIRE(object->read(requests));
    for (const read_request& request : requests)
      REQUIRE(as_text(request.into) == text.substr(request.offset, request.into.size()));
  }
}

TEST_CASE("file_blob: a file that became shorter is an error, one that grew keeps its size") {
  const fixture f;
  test::write_file(f.dir / "file", numbers(1000));
  const auto object = f.open("file");
  std::vector<std::byte> a(600), b(400);
  fs::resize_file(f.dir / "file", 2000);
  CHECK(object->size() == 1000);
  CHECK_FALSE(object->read(900, a));
  fs::resize_file(f.dir / "file", 700);
  CHECK(object->read(0, a));
  for (const auto& refused :
       {object->read(600, b), object->read(std::vector<read_request>{{0, a}, {600, b}})}) {
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::io);
    CHECK(refused.failure().message ==
          "read " + (f.dir / "file") + ": it became shorter than its 1000 bytes");
  }
}

TEST_CASE("file_blob: errors of the device are reported with the name") {
  const fixture f;
  test::write_file(f.dir / "file", numbers(1000));
  const auto object = f.open("file");
  for (const long number : {SYS_pread64, SYS_preadv}) {
    if (!test::makes_call(number)) continue;
    const std::string said = failed_read(*object, number);
    if (said == "skipped") {
      MESSAGE("skipped: seccomp is not allowed here");
      return;
    }
    CHECK(said == "io: read " + (f.dir / "file") + ": Input/output error");
  }
}

TEST_CASE("the file behind it, also past the page cache, whatever has its name") {
  const fixture f;
  const std::string text = numbers(8192);
  test::write_file(f.dir.path() / "x", text);
  const auto object = f.open("x");
  fs::remove(f.dir.path() / "x");
  REQUIRE(object->descriptor() >= 0);
  CHECK(fs::file_size("/proc/self/fd/" + std::to_string(object->descriptor())) == text.size());
  const detail::unique_fd direct = detail::open_direct(object->descriptor());
  if (direct) {  // not every file system has it
    alignas(4096) static std::array<std::byte, 4096> page{};
    CHECK((::fcntl(direct.get(), F_GETFL) & O_DIRECT) != 0);
    CHECK(detail::read_fully(direct.get(), 4096, page) == 0);
    CHECK(as_text(bytes_view(page)) == text.substr(4096));
  }
  CHECK_FALSE(detail::open_direct(-1));
}

TEST_CASE(
    "file_blob: a file has a version once its last change is some time ago, and until the next") {
  const fixture f;
  const auto version_of = [&](const std::string& name) {
    std::optional<blob_version> out;
    for (int i = 0; i < 20'000 && !out; ++i) {
      if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      out = f.open(name)->version();
    }
    REQUIRE(out);
    return *out;
  };
  const std::string path = f.dir / "x";
  test::write_file(path, "abcd");
  const blob_version first = version_of("x");
  CHECK(f.open("x")->version() == first);
  test::write_file(f.dir / "y", "abcd");
  CHECK(version_of("y") != first);
  const auto opened = f.open("x");
  std::fstream(path, std::ios::in | std::ios::out) << "efgh";
  CHECK(opened->version() == first);  // what was opened is what it was
  const blob_version second = version_of("x");
  CHECK(second != first);
  // Neither the time of the last change nor a rename hides that there was one.
  const auto time = fs::last_write_time(path);
  std::fstream(path, std::ios::in | std::ios::out) << "ijkl";
  fs::last_write_time(path, time);
  CHECK(version_of("x") != second);
  const blob_version third = version_of("x");
  fs::rename(f.dir / "y", path);
  CHECK(version_of("x") != third);
  // A time in the future says nothing.
  fs::last_write_time(path, fs::file_time_type::clock::now() + std::chrono::hours(1));
  CHECK_FALSE(f.open("x")->version());
}

TEST_CASE("file_blob: a mapping outlives its blob; nothing stays open") {
  const std::size_t before = test::open_files();
  {
    const fixture f;
    const std::string text = numbers(10'000);
    test::write_file(f.dir / "file", text);
    test::write_file(f.dir / "empty", "");
    mapping kept;
    kept = f.open("file")->map().value();
    CHECK(as_text(kept.bytes()) == text);
    CHECK(f.open("empty")->map().value().bytes().empty());
    CHECK(f.open("empty")->read(0, {}));
    for (int i = 0; i < 10; ++i) {
      CHECK(f.open("missing") == nullptr);
      CHECK(f.open("file/below") == nullptr);
    }
  }
  CHECK(test::open_files() == before);
}

}  // namespace file_blob_test
