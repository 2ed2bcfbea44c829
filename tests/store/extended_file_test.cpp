// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/file/extended_file.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include "../support/growing_files.hpp"
#include "../support/random_rounds.hpp"

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

namespace extended_file_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

store_key key_of(const char* text) { return store_key::parse(text).value(); }

using test::write_file;

std::string text_of(const std::string& path) { return test::read_file(path); }

/// Memory as `finish` wants it.
class blocks {
 public:
  explicit blocks(std::size_t count, char fill = 'n')
      : size_(count * blob_extension::block),
        data_(static_cast<std::byte*>(std::aligned_alloc(blob_extension::block, size_))) {
    std::fill_n(data_.get(), size_, static_cast<std::byte>(fill));
  }
  bytes_view bytes() const { return {data_.get(), size_}; }

 private:
  struct release {
    void operator()(std::byte* at) const { std::free(at); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte, release> data_;
};

/// Begins to add to what the store has now.
std::unique_ptr<blob_extension> begun(const file_store& store, const char* key) {
  const auto before = store.open(key_of(key)).value();
  return before == nullptr ? nullptr : store.extend(key_of(key), *before).value();
}

std::string grown(std::string before, std::size_t count, char fill = 'n') {
  before.resize((before.size() + 4095) / 4096 * 4096, '\0');
  return before + std::string(count * 4096, fill);
}

TEST_CASE("extended_file: what is there stays, what is added follows, whatever the size before") {
  const zarrpoint_test::growing_files folder;
  for (const bool sync : {false, true}) {
    if (!folder.are_there(sync)) continue;
    const auto store = file_store::open(folder.path().string(), {.sync = sync}).value();
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4095},
                                   std::size_t{4096}, std::size_t{10000}}) {
      CAPTURE(size);
      std::string wanted(size, 'o');
      write_file(folder / "x", wanted);
      for (const std::size_t count : {std::size_t{3}, std::size_t{1}}) {
        auto extension = begun(store, "x");
        REQUIRE(extension != nullptr);
        CHECK(text_of(folder / "x") == wanted);
        const blocks added(count);
        CHECK(extension->finish(added.bytes()));
        wanted = grown(wanted, count);
        CHECK(text_of(folder / "x") == wanted);
        CHECK(extension->finish(added.bytes()).failure().code == errc::invalid_argument);
        CHECK(text_of(folder / "x") == wanted);
      }
    }
  }
}

TEST_CASE("extended_file: one that is not finished changes nothing, nor does half a block") {
  const zarrpoint_test::growing_files folder;
  if (!folder.are_there()) return;
  write_file(folder / "x", "old");
  const auto store = file_store::open(folder.path().string()).value();
  CHECK(begun(store, "x") != nullptr);
  auto extension = begun(store, "x");
  REQUIRE(extension != nullptr);
  const blocks added(2);
  CHECK(extension->finish(added.bytes().first(5000)).failure().code == errc::invalid_argument);
  CHECK(text_of(folder / "x") == "old");
}

TEST_CASE("extended_file: what cannot grow in one step, or must not, is to be replaced") {
  const zarrpoint_test::growing_files folder;
  if (!folder.are_there()) return;
  const auto store = file_store::open(folder.path().string()).value();
  write_file(folder / "x", "old");
  const auto before = store.open(key_of("x")).value();
  CHECK(store.extend(key_of("y"), *before).value() == nullptr);  // not there
  {
    const auto held = begun(store, "x");
    REQUIRE(held != nullptr);
    CHECK(begun(store, "x") == nullptr);  // by another already
  }
  fs::create_hard_link(folder / "x", folder / "copy");
  CHECK(begun(store, "x") == nullptr);  // the copy would grow, too
  fs::remove(folder / "copy");
  fs::create_symlink("x", folder / "link");
  CHECK(store.extend(key_of("link"), *before).value() == nullptr);
  fs::create_directory(folder / "d");
  CHECK(store.extend(key_of("d"), *before).value() == nullptr);
  CHECK(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(store.extend(key_of("pipe"), *before).value() == nullptr);
  CHECK(begun(store, "x") != nullptr);
  const auto reader = file_store::open(folder.path().string(), {.read_only = true}).value();
  CHECK(reader.extend(key_of("x"), *before).failure().code == errc::unsupported);

  // As large as the one that was opened, and another.
  write_file(folder / "z", "new");
  fs::rename(folder / "z", folder / "x");
  CHECK(store.extend(key_of("x"), *before).value() == nullptr);
  // The same one, which has grown since.
  const auto small = store.open(key_of("x")).value();
  CHECK(begun(store, "x")->finish(blocks(1).bytes()));
  CHECK(store.extend(key_of("x"), *small).value() == nullptr);
}

TEST_CASE("extended_file: a file in memory is replaced") {
  if (::access("/dev/shm", W_OK) != 0) return;
  const test::temp_directory folder("/dev/shm");
  write_file(folder / "x", "old");
  CHECK(begun(file_store::open(folder.path().string()).value(), "x") == nullptr);
}

TEST_CASE("extended_file: one that has changed meanwhile, and one for which there is no room") {
  const zarrpoint_test::growing_files folder;
  if (!folder.are_there()) return;
  const auto store = file_store::open(folder.path().string(), {.sync = false}).value();
  const blocks added(4);
  write_file(folder / "x", "old");
  auto extension = begun(store, "x");
  REQUIRE(extension != nullptr);
  write_file(folder / "x", "older");
  const error changed = extension->finish(added.bytes()).failure();
  CHECK(changed.code == errc::io);
  CHECK(changed.message == "extend " + (folder / "x") + ": it has changed meanwhile");
  CHECK(text_of(folder / "x") == "older");

  extension = begun(store, "x");
  REQUIRE(extension != nullptr);
  fs::create_hard_link(folder / "x", folder / "copy");
  CHECK(extension->finish(added.bytes()).failure().code == errc::io);
  fs::remove(folder / "copy");
  CHECK(text_of(folder / "x") == "older");

  const pid_t id = ::fork();
  if (id == 0) {
    const ::rlimit most{8192, 8192};
    ::setrlimit(RLIMIT_FSIZE, &most);
    auto growing = begun(store, "x");
    const bool refused = growing != nullptr && !growing->finish(added.bytes());
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ::waitpid(id, &status, 0);
  CHECK(status == 0);
  CHECK(text_of(folder / "x") == "older");
}

TEST_CASE("extended_file: a reader sees all of a step or nothing of it") {
  const zarrpoint_test::growing_files folder;
  if (!folder.are_there()) return;
  const auto store = file_store::open(folder.path().string(), {.sync = false}).value();
  constexpr std::size_t count = 3;
  constexpr std::size_t rounds = 150;
  std::atomic<bool> done = false;
  std::atomic<std::size_t> looks = 0;
  std::atomic<std::size_t> torn = 0;
  // The last page of what was there is read again and again, so that it is in memory when the file
  // grows.
  const auto read = [&] {
    while (!done) {
      const auto object = store.open(key_of("x")).value();
      if (object == nullptr) continue;
      std::string text(object->size(), '?');
      const bool whole = static_cast<bool>(
          object->read(0, {reinterpret_cast<std::byte*>(text.data()), text.size()}));
      const std::size_t old = text.find('n');
      const bool right = old == std::string::npos
                             ? text == std::string(text.size(), 'o')
                             : text == grown(std::string(text.find_last_of('o') + 1, 'o'), count);
      if (!whole || !right) ++torn;
      ++looks;
    }
  };
  write_file(folder / "x", "o");
  std::thread one(read);
  std::thread two(read);
  for (std::size_t i = 0; i < rounds; ++i) {
    const std::string old((i * 997) % 9000 + 1, 'o');
    write_file(folder / "y", old);
    fs::rename(folder / "y", folder / "x");
    auto extension = begun(store, "x");
    REQUIRE(extension != nullptr);
    const blocks added(count);
    CHECK(extension->finish(added.bytes()));
    for (const std::size_t before = looks; looks == before;) std::this_thread::yield();
  }
  done = true;
  one.join();
  two.join();
  CHECK(torn == 0);
}

TEST_CASE("extended_file: a process that is killed leaves a whole number of steps") {
  const zarrpoint_test::growing_files folder;
  if (!folder.are_there()) return;
  constexpr std::size_t count = 1024;  // 4 MiB a step
  std::size_t most = 0;
  for (unsigned round = 0; round < zarrpoint_test::random_rounds(20U); ++round) {
    write_file(folder / "x", "");
    const pid_t id = ::fork();
    if (id == 0) {
      const auto store = file_store::open(folder.path().string(), {.sync = false}).value();
      const blocks added(count);
      for (int step = 0; step < 1000; ++step) {
        auto extension = begun(store, "x");
        if (extension == nullptr || !extension->finish(added.bytes())) ::_exit(1);
      }
      ::_exit(2);
    }
    int status = 0;
    pid_t ended = 0;
    while (fs::file_size(folder / "x") == 0 && ended == 0) ended = ::waitpid(id, &status, WNOHANG);
    ::usleep(200 * round);
    ::kill(id, SIGKILL);
    if (ended == 0) ::waitpid(id, &status, 0);
    CHECK(WIFSIGNALED(status));
    const std::string text = text_of(folder / "x");
    CHECK(text.size() % (4096 * count) == 0);
    CHECK(text == std::string(text.size(), 'n'));
    most = std::max(most, text.size());
  }
  CHECK(most > 0);
}

}  // namespace extended_file_test
