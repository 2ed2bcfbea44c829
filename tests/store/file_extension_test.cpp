// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/file/file_extension.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include "../support/growing_files.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace file_extension_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

store_key key_of(const char* text) { return store_key::parse(text).value(); }

using test::write_file;

std::string text_of(const std::string& path) { return test::read_file(path); }

/// Memory as `finish` wants it.
class tail {
 public:
  explicit tail(std::size_t blocks, char fill = 'n')
      : size_(blocks * blob_extension::block),
        data_(static_cast<std::byte*>(std::aligned_alloc(blob_extension::block, size_))) {
    std::fill_n(data_.get(), size_, static_cast<std::byte>(fill));
  }
  mutable_bytes bytes() { return {data_.get(), size_}; }

 private:
  struct release {
    void operator()(std::byte* at) const { std::free(at); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte, release> data_;
};

TEST_CASE("file_extension: what is there stays, what is added follows, whatever the size before") {
  const zarrpoint_test::growing_files folder;
  if (!folder.are_there()) return;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4095}, std::size_t{4096}, std::size_t{10000}}) {
    CAPTURE(size);
    const std::string before(size, 'o');
    write_file(folder / "x", before);
    for (const bool sync : {false, true}) {
      const auto store = file_store::open(folder.path().string(), {.sync = sync}).value();
      const std::string old = text_of(folder / "x");
      auto extension = store.extend(key_of("x"), old.size()).value();
      REQUIRE(extension != nullptr);
      CHECK(text_of(folder / "x") == old);
      tail added(3);
      CHECK(extension->finish(added.bytes()));
      const std::size_t begin = old.size() / 4096 * 4096;
      std::string wanted = old;
      wanted.resize(begin + 3 * 4096, 'n');
      CHECK(text_of(folder / "x") == wanted);
      CHECK(extension->finish(added.bytes()).failure().code == errc::invalid_argument);
      CHECK(text_of(folder / "x") == wanted);
    }
  }
}

TEST_CASE("file_extension: one that is not finished changes nothing, nor does half a block") {
  const zarrpoint_test::growing_files folder;
  if (!folder.are_there()) return;
  write_file(folder / "x", "old");
  const auto store = file_store::open(folder.path().string()).value();
  CHECK(store.extend(key_of("x"), 3).value() != nullptr);
  auto extension = store.extend(key_of("x"), 3).value();
  REQUIRE(extension != nullptr);
  tail added(2);
  CHECK(extension->finish(added.bytes().first(5000)).failure().code == errc::invalid_argument);
  CHECK(text_of(folder / "x") == "old");
  CHECK(fs::hard_link_count(folder / "x") == 1);
}

TEST_CASE("file_extension: what cannot grow in one step, or must not, is to be replaced") {
  const zarrpoint_test::growing_files folder;
  if (!folder.are_there()) return;
  const auto store = file_store::open(folder.path().string()).value();
  CHECK(store.extend(key_of("x"), 3).value() == nullptr);  // not there
  write_file(folder / "x", "old");
  CHECK(store.extend(key_of("x"), 2).value() == nullptr);  // another one
  CHECK(store.extend(store_key::root(), 3).failure().code == errc::invalid_argument);
  {
    const auto held = store.extend(key_of("x"), 3).value();
    REQUIRE(held != nullptr);
    CHECK(store.extend(key_of("x"), 3).value() == nullptr);  // by another already
  }
  fs::create_hard_link(folder / "x", folder / "copy");
  CHECK(store.extend(key_of("x"), 3).value() == nullptr);  // the copy would grow, too
  fs::remove(folder / "copy");
  fs::create_symlink("x", folder / "link");
  CHECK(store.extend(key_of("link"), 3).value() == nullptr);
  fs::create_directory(folder / "d");
  CHECK(store.extend(key_of("d"), 0).value() == nullptr);
  CHECK(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(store.extend(key_of("pipe"), 0).value() == nullptr);
  CHECK(store.extend(key_of("x"), 3).value() != nullptr);
  const auto reader = file_store::open(folder.path().string(), {.read_only = true}).value();
  CHECK(reader.extend(key_of("x"), 3).failure().code == errc::unsupported);
}

TEST_CASE("file_extension: a file in memory is replaced") {
  if (::access("/dev/shm", W_OK) != 0) return;
  const std::string path = "/dev/shm/zarrpoint_extension." + std::to_string(::getpid());
  fs::create_directory(path);
  write_file(path + "/x", "old");
  CHECK(file_store::open(path).value().extend(key_of("x"), 3).value() == nullptr);
  fs::remove_all(path);
}

TEST_CASE("file_extension: one that has changed meanwhile, and one for which there is no room") {
  const zarrpoint_test::growing_files folder;
  if (!folder.are_there()) return;
  const auto store = file_store::open(folder.path().string(), {.sync = false}).value();
  write_file(folder / "x", "old");
  auto extension = store.extend(key_of("x"), 3).value();
  REQUIRE(extension != nullptr);
  write_file(folder / "x", "older");
  tail added(4);
  const error changed = extension->finish(added.bytes()).failure();
  CHECK(changed.code == errc::io);
  CHECK(changed.message == "extend " + (folder / "x") + ": it has changed meanwhile");
  CHECK(text_of(folder / "x") == "older");

  // A limit of the process stands for a full disk: the kernel writes a part.
  const pid_t id = ::fork();
  if (id == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const ::rlimit most{8192, 8192};
    ::setrlimit(RLIMIT_FSIZE, &most);
    auto growing = store.extend(key_of("x"), 5).value();
    const bool refused = growing != nullptr && !growing->finish(added.bytes());
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ::waitpid(id, &status, 0);
  CHECK(status == 0);
  CHECK(text_of(folder / "x") == "older");
}

TEST_CASE("file_extension: a reader sees all of a step or nothing of it") {
  const zarrpoint_test::growing_files folder;
  if (!folder.are_there()) return;
  const auto store = file_store::open(folder.path().string(), {.sync = false}).value();
  write_file(folder / "x", std::string(4096, '0'));
  constexpr std::size_t steps = 60;
  constexpr std::size_t blocks = 80;
  std::atomic<bool> done = false;
  std::atomic<std::size_t> looks = 0;
  std::atomic<bool> whole = true;
  std::thread reader([&] {
    while (!done) {
      const auto object = store.open(key_of("x")).value();
      std::byte last{};
      const std::uint64_t size = object->size();
      const bool read = static_cast<bool>(object->read(size - 1, {&last, 1}));
      const auto step = static_cast<char>('0' + (size / 4096 - 1) / blocks);
      if (!read || size % 4096 != 0 || (size / 4096 - 1) % blocks != 0 ||
          last != static_cast<std::byte>(step))
        whole = false;
      ++looks;
    }
  });
  for (std::size_t i = 0; i < steps; ++i) {
    tail added(blocks, static_cast<char>('1' + i));
    auto extension = store.extend(key_of("x"), 4096 * (1 + i * blocks)).value();
    REQUIRE(extension != nullptr);
    CHECK(extension->finish(added.bytes()));
    for (const std::size_t before = looks; looks == before;) std::this_thread::yield();
  }
  done = true;
  reader.join();
  CHECK(whole);
}

TEST_CASE("file_extension: a process that is killed leaves a whole number of steps") {
  const zarrpoint_test::growing_files folder;
  if (!folder.are_there()) return;
  constexpr std::size_t blocks = 64;
  for (unsigned round = 0; round < 20; ++round) {
    write_file(folder / "x", "");
    const pid_t id = ::fork();
    if (id == 0) {
      const auto store = file_store::open(folder.path().string(), {.sync = false}).value();
      tail added(blocks);
      for (std::size_t size = 0;; size += 4096 * blocks) {
        auto extension = store.extend(key_of("x"), size).value();
        if (extension == nullptr || !extension->finish(added.bytes())) ::_exit(1);
      }
    }
    while (fs::file_size(folder / "x") == 0) std::this_thread::yield();
    ::usleep(200 * round);
    ::kill(id, SIGKILL);
    int status = 0;
    ::waitpid(id, &status, 0);
    CHECK(WIFSIGNALED(status));
    const std::string text = text_of(folder / "x");
    CHECK(text.size() % (4096 * blocks) == 0);
    CHECK(text == std::string(text.size(), 'n'));
  }
}

}  // namespace file_extension_test
