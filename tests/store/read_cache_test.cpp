// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A cache of blocks on disk and in memory: whatever happens to its files, what is read is right.

#include <zarrpoint/cache.hpp>
#include <zarrpoint/remote.hpp>
#include <zarrpoint/stores.hpp>

#include "support/child_process.hpp"
#include "support/fake_web.hpp"
#include "support/small_disk.hpp"
#include "support/store_conformance.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace read_cache_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t unit = 4096;
constexpr std::size_t large = 100'000;  // of an object that is kept

/// One object at each key, which counts what is read of it.
struct distant_store {
  struct contents {
    std::string bytes = fake_web::some_bytes(large);
    std::optional<std::uint64_t> version = 1;
    std::atomic<int> reads{0};
    std::atomic<std::uint64_t> bytes_read{0};
    std::atomic<int> failures{0};  ///< reads that fail from now on
    std::function<void()> before{};
  };
  struct object final : blob {
    explicit object(std::shared_ptr<contents> in)
        : of(std::move(in)), bytes(of->bytes), kept(of->version) {}
    std::uint64_t size() const noexcept override { return bytes.size(); }
    std::string name() const override { return "distant object"; }
    std::optional<blob_version> version() const noexcept override {
      if (!kept) return std::nullopt;
      return blob_version{{*kept}};
    }
    using blob::read;
    result<void> read(std::uint64_t offset, mutable_bytes into) const override {
      ZARRPOINT_CHECK(check_range(offset, into.size()));
      if (of->before) of->before();
      ++of->reads;
      of->bytes_read += into.size();
      if (of->failures > 0) return --of->failures, error{errc::unavailable, "no connection"};
      std::copy_n(std::as_bytes(std::span(bytes)).begin() + static_cast<std::ptrdiff_t>(offset),
                  into.size(), into.begin());
      return {};
    }
    std::shared_ptr<contents> of;
    std::string bytes;
    std::optional<std::uint64_t> kept;
  };

  result<std::unique_ptr<blob>> open(const store_key&) const {
    return std::unique_ptr<blob>(std::make_unique<object>(of));
  }
  std::string describe(const store_key& key) const { return std::string(key.str()); }
  std::shared_ptr<contents> of = std::make_shared<contents>();
};

read_cache cache_at(const std::string& folder, std::uint64_t bytes = 1 << 20,
                    std::size_t memory = 0) {
  return read_cache::open({.folder = folder, .bytes = bytes, .memory = memory, .block_bytes = unit})
      .value();
}

std::unique_ptr<blob> open_by(const read_cache& cache, const any_store& store) {
  return cache.over(store).open(store_key::parse("a").value()).value();
}

result<std::string> read(const blob& from, std::uint64_t offset, std::size_t size) {
  std::string out(size, '\0');
  ZARRPOINT_CHECK(from.read(offset, std::as_writable_bytes(std::span(out))));
  return out;
}

std::string whole(const blob& from) {
  return read(from, 0, static_cast<std::size_t>(from.size())).value();
}

std::vector<std::string> blocks_in(const fs::path& folder) {
  std::vector<std::string> out;
  for (const auto& name : test::names_in(folder))
    if (name.starts_with("zp-") && !name.starts_with("zp-tmp-"))
      out.push_back((folder / name).string());
  return out;
}

std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t out = 0;
  for (const std::string& one : blocks_in(folder)) out += fs::file_size(one);
  return out;
}

}  // namespace

TEST_CASE("read_cache: what was read once is read no more, by this process and by others") {
  const test::temp_directory folder;
  const std::string deep = folder / "deep/down";
  const distant_store store;
  const std::string& bytes = store.of->bytes;
  for (const std::size_t memory : {std::size_t{0}, std::size_t{1} << 20}) {
    for (const bool on_disk : {true, false}) {
      if (!on_disk && memory == 0) continue;
      CAPTURE(memory);
      CAPTURE(on_disk);
      const std::string at = on_disk ? deep + std::to_string(memory) : "";
      const auto cache = cache_at(at, 1 << 20, memory);
      store.of->reads = 0;
      store.of->bytes_read = 0;
      const auto opened = open_by(cache, store);
      CHECK(opened->size() == large);
      CHECK(opened->name() == "distant object");
      CHECK(opened->version().has_value());
      CHECK(read(*opened, 5000, 3000).value() == bytes.substr(5000, 3000));
      CHECK(store.of->bytes_read == unit);  // 5000 to 8000 lies in one block
      CHECK(whole(*opened) == bytes);
      CHECK(store.of->reads == 3);  // the blocks before that one, and those behind it
      CHECK(store.of->bytes_read == large);
      CHECK(whole(*open_by(cache, store)) == bytes);
      CHECK(store.of->bytes_read == large);
      if (on_disk) {
        const auto other = cache_at(at);  // as another process
        CHECK(whole(*open_by(other, store)) == bytes);
        CHECK(store.of->bytes_read == large);
        CHECK(other.counts().disk_hits == (large + unit - 1) / unit);
        CHECK(other.counts().misses == 0);
      }
      CHECK(read(*opened, large, 0).value().empty());
      CHECK(read(*opened, large - 1, 2).failure().code == errc::out_of_range);
      CHECK(read(*opened, UINT64_MAX, 2).failure().code == errc::out_of_range);
    }
  }
}

TEST_CASE("read_cache: many ranges of one call, in any order, also those that overlap") {
  const distant_store store;
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    const auto cache = cache_at("", 0, round % 2 == 0 ? 1 << 20 : 3 * unit);
    const auto opened = open_by(cache, store);
    std::vector<std::string> out(1 + random() % 20);
    std::vector<read_request> wanted;
    for (std::string& one : out) {
      const std::size_t offset = random() % large;
      one.resize(random() % std::min<std::size_t>(large - offset, 20'000) + (round % 3 == 0));
      wanted.push_back(
          {std::min(offset, large - one.size()), std::as_writable_bytes(std::span(one))});
    }
    REQUIRE(opened->read(wanted).has_value());
    for (std::size_t i = 0; i < out.size(); ++i)
      CHECK(out[i] ==
            store.of->bytes.substr(static_cast<std::size_t>(wanted[i].offset), out[i].size()));
  }
}

TEST_CASE("read_cache: an object that is another one by now is not taken for the old one") {
  const test::temp_directory folder;
  const distant_store store;
  const auto cache = cache_at(folder / "c", 1 << 20, 1 << 20);
  const auto old = open_by(cache, store);
  const std::string before = store.of->bytes;
  CHECK(read(*old, 0, 9000).value() == before.substr(0, 9000));
  store.of->bytes = fake_web::some_bytes(large, 2);
  store.of->version = 2;
  CHECK(whole(*open_by(cache, store)) == store.of->bytes);
  CHECK(whole(*old) == before);
  CHECK(whole(*open_by(cache_at(folder / "c"), store)) == store.of->bytes);
  // Without a version nothing is kept, and neither is what is small.
  store.of->version.reset();
  store.of->bytes_read = 0;
  for (int i = 0; i < 2; ++i) CHECK(whole(*open_by(cache, store)) == store.of->bytes);
  CHECK(store.of->bytes_read == 2 * large);
  store.of->version = 3;
  store.of->bytes.resize(64 << 10);
  store.of->bytes_read = 0;
  for (int i = 0; i < 2; ++i) CHECK(whole(*open_by(cache, store)) == store.of->bytes);
  CHECK(store.of->bytes_read == 2 * (64 << 10));
}

TEST_CASE("read_cache: a server's object that changes in the middle of a load") {
  const test::temp_directory folder;
  const fake_web::server server;
  server.state->objects["/a"] = {fake_web::some_bytes(large)};
  const auto cache = cache_at(folder / "c");
  http_store_options how{.first_bytes = 100, .kept_blocks = 0, .cache = cache};
  how.retry.clock = server.state->clock;
  const auto open = [&] {
    return http_store::open("http://h/a", server, how)->open_address().value();
  };
  const std::string before = server.state->objects["/a"].bytes;
  const auto old = open();
  CHECK(read(*old, 8192, 8192).value() == before.substr(8192, 8192));
  server.state->faults = {{fake_web::fault::change}};
  const auto changed = read(*old, 0, large);
  REQUIRE_FALSE(changed.has_value());
  CHECK(changed.failure().code == errc::replaced);
  CHECK(read(*old, 8192, 8192).value() == before.substr(8192, 8192));  // of the old one
  const std::string& after = server.state->objects["/a"].bytes;
  CHECK(after != before);
  CHECK(whole(*open()) == after);
  const std::size_t requests = server.state->requests.size();
  CHECK(whole(*open()) == after);
  CHECK(server.state->requests.size() == requests + 1);  // which asks for the ETag
  // A weak ETag is that of other contents, too; without any there is nothing to keep it by.
  for (const bool is_weak : {true, false}) {
    CAPTURE(is_weak);
    server.state->objects["/a"].etag = "W/\"a\"";
    server.state->sends_etag = is_weak;
    const auto weak = open();
    CHECK_FALSE(weak->version().has_value());
    const std::size_t start = server.state->requests.size();
    for (int i = 0; i < 2; ++i) CHECK(read(*weak, 20'000, 100).has_value());
    CHECK(server.state->requests.size() == start + 2);
  }
}

TEST_CASE("read_cache: a server of Google tells the version, and what a request should have") {
  const fake_web::server server;
  auto& of = server.state->objects["/a"];
  const auto cache = cache_at("", 0, 1 << 20);
  const http_store_options how{.first_bytes = 100, .kept_blocks = 0, .cache = cache};
  const auto open = [&] {
    return http_store::open("http://h/a", server, how)->open_address().value();
  };
  of = {fake_web::some_bytes(large), "CJ2x1uXQ"};  // no one knows what that is
  CHECK_FALSE(open()->version().has_value());
  of.generation = "1795879467000001";
  const auto opened = open();
  CHECK(whole(*opened) == of.bytes);
  CHECK(opened->request_bytes() == 8 << 20);
  CHECK(whole(*open()) == of.bytes);
  CHECK(cache.counts().misses == (large + unit - 1) / unit);
  of = {fake_web::some_bytes(large, 2), "CJ2x1uXR", "1795879467000002"};
  CHECK(whole(*open()) == of.bytes);
  of.etag = "W/\"a\"";
  CHECK_FALSE(open()->version().has_value());
}

TEST_CASE("read_cache: objects at other URLs are others, whatever their names and ETags are") {
  const test::temp_directory folder;
  const fake_web::server server;
  const std::string deep = "/" + std::string(300, 'd') + "/w/c/0/";
  const std::vector<std::string> paths{
      "/file?id=1", "/file?id=2", "/file?id=1&part=2", "/file?versionId=1", deep + "0",
      deep + "1",   "/file",      "/signed?of=us",     "/signed?of=them"};
  unsigned seed = 0;
  for (const std::string& path : paths)
    server.state->objects[path] = {fake_web::some_bytes(large, ++seed)};
  const auto bytes_of = [&](const std::string& path) { return server.state->objects[path].bytes; };
  const auto cache = cache_at(folder / "c", 4 << 20, 1 << 20);
  const http_store_options how{.first_bytes = 100, .kept_blocks = 0, .cache = cache};
  const auto open = [&](const std::string& address) {
    return http_store::open("http://h" + address, server, how)->open_address().value();
  };
  for (int round = 0; round < 2; ++round) {
    CAPTURE(round);
    for (const std::string& path : paths) {
      CAPTURE(path);
      CHECK(whole(*open(path)) == bytes_of(path));
    }
  }
  CHECK(cache.counts().misses == paths.size() * ((large + unit - 1) / unit));
  // Another signature does not make another object.
  server.state->objects["/signed"] = {bytes_of("/signed?of=us")};
  const std::uint64_t misses = cache.counts().misses;
  for (const char* signed_by :
       {"?X-Amz-Signature=12&X-Amz-Date=3", "?x-amz-signature=34", "?X-Goog-Signature=56", ""})
    CHECK(whole(*open(std::string("/signed") + signed_by)) == bytes_of("/signed"));
  CHECK(cache.counts().misses == misses + (large + unit - 1) / unit);
}

TEST_CASE("read_cache: a damaged block is never served") {
  const distant_store store;
  const auto damage = [](const std::string& path, const std::function<void(std::string&)>& how) {
    std::string text = test::read_file(path);
    how(text);
    test::write_file(path, text);
  };
  std::vector<std::function<void(const std::vector<std::string>&)>> cases;
  // Each byte of a head, and some of the rest, and each way to be cut short or to be too long.
  for (std::size_t at = 0; at < unit; at += at < 200 ? 1 : 97) {
    cases.push_back([&, at](const auto& paths) {
      damage(paths[0], [&](std::string& text) {
        text[at % text.size()] = static_cast<char>(text[at % text.size()] ^ 0x10);
      });
    });
  }
  for (const unsigned size : {0U, 1U, 7U, 8U, 15U, 16U, 40U, 100U, 4000U, 5000U}) {
    cases.push_back([&, size](const auto& paths) {
      damage(paths[0], [&](std::string& text) { text.resize(size); });
    });
  }
  cases.push_back([](const auto& paths) {  // one in place of another
    fs::copy_file(paths[0], paths[1], fs::copy_options::overwrite_existing);
  });
  cases.push_back([](const auto& paths) {
    fs::remove(paths[0]);
    fs::create_symlink(paths[1], paths[0]);
  });
  cases.push_back([](const auto& paths) {
    fs::remove(paths[0]);
    CHECK(::mkfifo(paths[0].c_str(), 0600) == 0);
  });
  cases.push_back([](const auto& paths) {
    fs::remove(paths[0]);
    fs::create_directory(paths[0]);
  });
  cases.push_back([&](const auto& paths) {  // all of them, by what others have written
    for (const std::string& path : paths) test::write_file(path, std::string(5000, 'x'));
  });
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    const test::temp_directory folder;
    whole(*open_by(cache_at(folder / "c"), store));
    const auto paths = blocks_in(folder / "c");
    REQUIRE(paths.size() == (large + unit - 1) / unit);
    cases[i](paths);
    const auto cache = cache_at(folder / "c");
    CHECK(whole(*open_by(cache, store)) == store.of->bytes);
    CHECK(cache.counts().damaged >= 1);
    CHECK(cache.counts().misses >= 1);
    // It has been put right, where that can be done.
    const auto again = cache_at(folder / "c");
    CHECK(whole(*open_by(again, store)) == store.of->bytes);
    CHECK((again.counts().misses == 0 || fs::is_directory(paths[0])));
  }
}

TEST_CASE("read_cache: what was not used for the longest time goes first") {
  const test::temp_directory folder;
  const distant_store store;
  store.of->bytes = fake_web::some_bytes(64 * unit);
  constexpr std::uint64_t limit = 64 * unit;
  const auto cache = cache_at(folder / "c", limit);
  const auto opened = open_by(cache, store);
  for (std::size_t i = 0; i < 30; ++i) CHECK(read(*opened, i * unit, 10).has_value());
  const auto first = blocks_in(folder / "c");
  REQUIRE(first.size() == 30);
  // Files of others, and what a killed writer left long ago; all blocks were used long ago.
  const std::string digits(32, '7');
  const std::vector<std::string> foreign{"notes",
                                         "zp-model.safetensors",
                                         "zp-tmp-notes",
                                         "zp-" + digits + "7",
                                         "zp-" + digits.substr(1),
                                         "zp-" + digits.substr(1) + "g",
                                         "zp-tmp-" + digits + ".txt"};
  const std::string torn = folder / ("c/zp-tmp-" + digits);
  const std::string written = folder / ("c/zp-tmp-" + std::string(32, '8'));
  for (const std::string& name : foreign) test::write_file(folder / ("c/" + name), "mine");
  test::write_file(torn, "torn");
  test::write_file(written, "torn, and being written");
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(48);
  for (const std::string& one : first) fs::last_write_time(one, long_ago);
  for (const std::string& name : foreign) fs::last_write_time(folder / ("c/" + name), long_ago);
  fs::last_write_time(torn, long_ago);
  for (std::size_t i = 0; i < 5; ++i) CHECK(read(*opened, i * unit, 10).has_value());  // used now
  for (std::size_t i = 30; i < 64; ++i) {
    CHECK(read(*opened, i * unit, 10).has_value());
    CHECK(bytes_in(folder / "c") <= limit);
  }
  CHECK(bytes_in(folder / "c") > limit / 2);
  std::size_t stayed = 0;
  for (const std::string& one : first) stayed += fs::exists(one);
  CHECK(stayed < 30);
  CHECK(stayed >= 5);
  store.of->reads = 0;
  for (std::size_t i = 0; i < 5; ++i) CHECK(read(*opened, i * unit, 10).has_value());
  CHECK(store.of->reads == 0);
  for (const std::string& name : foreign) {
    CAPTURE(name);
    CHECK(fs::exists(folder / ("c/" + name)));
  }
  CHECK_FALSE(fs::exists(torn));
  CHECK(fs::exists(written));
}

TEST_CASE("read_cache: several processes at once, one of which is killed") {
  const test::temp_directory folder;
  const distant_store store;
  const std::string at = folder / "c";
  constexpr std::uint64_t limit = 20 * unit;  // less than the object
  const auto work = [&](unsigned seed, int rounds) {
    std::mt19937 random(seed);
    const auto cache = cache_at(at, limit);
    const auto opened = open_by(cache, store);
    for (int i = 0; i < rounds; ++i) {
      const std::size_t offset = random() % large,
                        size = random() % std::min<std::size_t>(large - offset, 12'000);
      const auto got = read(*opened, offset, size);
      if (!got || *got != store.of->bytes.substr(offset, size)) return false;
    }
    return true;
  };
  std::vector<pid_t> children;
  for (unsigned seed = 0; seed < 5; ++seed) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) ::_exit(work(seed, seed == 0 ? 1'000'000'000 : 300) ? 0 : 1);
    children.push_back(child);
  }
  CHECK(work(17, 300));
  ::kill(children[0], SIGKILL);
  for (std::size_t i = 0; i < children.size(); ++i) {
    int status = 0;
    REQUIRE(::waitpid(children[i], &status, 0) == children[i]);
    CHECK((i == 0 ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
  CHECK(work(18, 100));  // nothing that it left is in the way
  CHECK(bytes_in(at) <= limit + 6 * 2 * unit);
}

TEST_CASE("read_cache: threads that want the same block fetch it once") {
  const distant_store store;
  for (const int failures : {0, 3}) {
    CAPTURE(failures);
    const test::temp_directory folder;
    const auto cache = cache_at(folder / "c");
    const auto opened = open_by(cache, store);
    store.of->reads = 0;
    store.of->bytes_read = 0;
    store.of->failures = failures;
    store.of->before = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
    std::atomic<int> wrong{0}, failed{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (std::size_t offset = 0; offset + 3000 < large; offset += 3000) {
          const auto got = read(*opened, offset, 3000);
          if (!got) ++failed;
          if (got && *got != store.of->bytes.substr(offset, 3000)) ++wrong;
        }
      });
    }
    for (std::thread& one : threads) one.join();
    store.of->before = {};
    CHECK(wrong == 0);
    CHECK(failed <= failures);
    if (failures == 0) CHECK(store.of->bytes_read <= large);
    CHECK(whole(*opened) == store.of->bytes);
  }
}

TEST_CASE("read_cache: an error of the store is told, and not kept") {
  const test::temp_directory folder;
  const distant_store store;
  const auto cache = cache_at(folder / "c", 1 << 20, 1 << 20);
  const auto opened = open_by(cache, store);
  store.of->failures = 1;
  const auto lost = read(*opened, 0, 10);
  REQUIRE_FALSE(lost.has_value());
  CHECK(lost.failure().code == errc::unavailable);
  CHECK(blocks_in(folder / "c").empty());
  CHECK(whole(*opened) == store.of->bytes);
}

TEST_CASE("read_cache: a full disk, and a folder that is gone, are read past") {
  const distant_store store;
  const auto reads_right = [&](const read_cache& cache) {
    const auto opened = open_by(cache, store);
    return whole(*opened) == store.of->bytes && whole(*opened) == store.of->bytes &&
           cache.counts().unwritten > 0;
  };
  {
    const test::small_disk disk("size=40k");
    if (disk.mounted()) {
      CHECK(reads_right(cache_at(disk / "c")));
      for (const auto& name : test::names_in(disk / "c")) CHECK_FALSE(name.starts_with("zp-tmp-"));
      for (const std::string& one : blocks_in(disk / "c")) CHECK(fs::file_size(one) > unit);
    } else {
      MESSAGE(test::skipped_without_root);
    }
  }
  const test::temp_directory folder;
  const auto said = test::in_child([&] {
    const auto cache = cache_at(folder / "c");
    if (!test::deny(SYS_pwrite64, ENOSPC)) return std::string("skipped");
    return std::string(reads_right(cache) ? "right" : "wrong");
  });
  CHECK((said == "right" || said == "skipped"));
  CHECK(test::names_in(folder / "c").empty());
  const auto cache = cache_at(folder / "gone");
  fs::remove_all(folder / "gone");
  CHECK(reads_right(cache));
}

TEST_CASE("read_cache: a folder that others may write to is refused") {
  const test::temp_directory folder;
  for (const ::mode_t mode : {0777U, 0770U, 0722U, 01777U}) {
    REQUIRE(::chmod(folder.path().c_str(), mode) == 0);
    const auto opened = read_cache::open({.folder = folder.path().string()});
    REQUIRE_FALSE(opened.has_value());
    CHECK(opened.failure().code == errc::invalid_argument);
    CHECK(opened.failure().message.find("others may write") != std::string::npos);
  }
  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  CHECK(read_cache::open({.folder = folder.path().string()}).has_value());
  if (::geteuid() == 0) {
    REQUIRE(::chown(folder.path().c_str(), 1, 1) == 0);
    CHECK_FALSE(read_cache::open({.folder = folder.path().string()}).has_value());
    REQUIRE(::chown(folder.path().c_str(), 0, 0) == 0);
  }
  test::write_file(folder / "file", "x");
  CHECK(read_cache::open({.folder = folder / "file"}).failure().code != errc::invalid_argument);
  CHECK_FALSE(read_cache::open({.folder = folder / "file/below"}).has_value());
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{4095}, (std::size_t{64} << 20) + 1})
    CHECK_FALSE(read_cache::open({.block_bytes = bytes}).has_value());
}

TEST_CASE("read_cache: what it makes of a store is one") {
  test::store_conformance([] { return cache_at("", 0, 1 << 20).over(memory_store()); });
}

}  // namespace read_cache_test
