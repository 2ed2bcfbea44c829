// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/cache_store.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/store_conformance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace zarrpoint;

namespace {

/// A store that counts what is read from it.
struct counted_store {
  struct object final : blob {
    object(std::unique_ptr<blob> of, std::shared_ptr<std::atomic<int>> count)
        : inner(std::move(of)), reads(std::move(count)) {}
    std::uint64_t size() const noexcept override { return inner->size(); }
    std::string name() const override { return inner->name(); }
    result<void> read(std::uint64_t offset, mutable_bytes into) const override {
      ++*reads;
      return inner->read(offset, into);
    }
    std::unique_ptr<blob> inner;
    std::shared_ptr<std::atomic<int>> reads;
  };

  result<std::unique_ptr<blob>> open(const store_key& key) const {
    ++*opens;
    ZARRPOINT_TRY(opened, memory.open(key));
    if (opened == nullptr) return std::unique_ptr<blob>();
    return std::unique_ptr<blob>(std::make_unique<object>(std::move(opened), reads));
  }
  std::string describe(const store_key& key) const { return memory.describe(key); }

  memory_store memory{};
  std::shared_ptr<std::atomic<int>> opens = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<std::atomic<int>> reads = std::make_shared<std::atomic<int>>(0);
};

}  // namespace

TEST_CASE("cache_store: conformance, whatever fits") {
  for (const std::size_t bytes : {0U, 10'000U, 100U << 20})
    test::store_conformance(
        [&] { return cache_store(memory_store(), {.bytes = bytes, .block_bytes = 4096}); });
}

TEST_CASE("cache_store: a block is read once, and the object is not even opened again") {
  const counted_store base;
  const auto data = test::random_bytes(100'000);
  base.memory.put(test::key("a"), data).value();
  const cache_store store(base, {.bytes = 1 << 20, .block_bytes = 10'000});
  std::vector<std::byte> part(25'000);
  for (int round = 0; round < 3; ++round) {
    store.open(test::key("a")).value()->read(15'000, part).value();
    CHECK(std::equal(part.begin(), part.end(), data.begin() + 15'000));
    CHECK(*base.reads == 3);
    CHECK(*base.opens == 1);
  }
  CHECK(store.counts().misses == 3);
  CHECK(store.counts().hits == 6);
  CHECK(store.counts().bytes == 30'000);
  std::vector<std::byte> whole(data.size());
  store.open(test::key("a")).value()->read(0, whole).value();
  CHECK(whole == data);
  CHECK(*base.reads == 10);
  CHECK(store.counts().bytes == 100'000);
  CHECK(store.open(test::key("missing")).value() == nullptr);
}

TEST_CASE("cache_store: a read of more than half of it goes past it") {
  const counted_store base;
  base.memory.put(test::key("a"), test::random_bytes(60'000)).value();
  const cache_store store(base, {.bytes = 100'000, .block_bytes = 10'000});
  std::vector<std::byte> whole(60'000);
  store.open(test::key("a")).value()->read(0, whole).value();
  CHECK(*base.reads == 1);
  CHECK(store.counts().bytes == 0);
}

TEST_CASE("cache_store: what is written through it is what it reads") {
  const memory_store base;
  const cache_store store(base, {.bytes = 1 << 20});
  const auto text = [&](const char* name) {
    return std::string(as_text(test::read_object(store, name)));
  };
  store.put(test::key("a/b"), as_bytes("one")).value();
  CHECK(text("a/b") == "one");
  const auto held = store.open(test::key("a/b")).value();
  store.put(test::key("a/b"), as_bytes("two!")).value();
  CHECK(text("a/b") == "two!");
  // One that was opened before is as before, or says that it is not.
  std::vector<std::byte> old(3);
  if (held->read(0, old)) CHECK(as_text(old) == "one");
  CHECK(text("a/b") == "two!");
  {
    const auto staged = store.stage(test::key("a"), {.overwrite = true}).value();
    staged->store().put(test::key("b"), as_bytes("three")).value();
    CHECK(text("a/b") == "two!");
    staged->commit().value();
  }
  CHECK(text("a/b") == "three");
  {
    const auto writer = store.create(test::key("a/b")).value();
    writer->write(0, as_bytes("four")).value();
    CHECK(text("a/b") == "three");
    writer->finish().value();
  }
  CHECK(text("a/b") == "four");
  store.erase(test::key("a/b")).value();
  CHECK_FALSE(test::has_object(store, "a/b"));

  // What others write is seen after `clear`.
  store.put(test::key("c"), as_bytes("mine")).value();
  CHECK(text("c") == "mine");
  base.put(test::key("c"), as_bytes("theirs")).value();
  CHECK(text("c") == "mine");
  store.clear();
  CHECK(text("c") == "theirs");
}

TEST_CASE("cache_store: an object that shrank behind it is an error, not other bytes") {
  const memory_store base;
  const cache_store store(base, {.bytes = 1 << 20, .block_bytes = 4096});
  base.put(test::key("a"), test::random_bytes(10'000)).value();
  std::vector<std::byte> part(10);
  store.open(test::key("a")).value()->read(0, part).value();
  base.put(test::key("a"), test::random_bytes(10)).value();
  const auto later = store.open(test::key("a")).value();
  later->read(0, part).value();  // cached
  const auto gone = later->read(9'000, part);
  REQUIRE_FALSE(gone);
  CHECK(gone.failure().code == errc::io);
}

TEST_CASE("cache_store: many threads, a cache too small for all, and writers") {
  const memory_store base;
  const cache_store store(base, {.bytes = 60'000, .block_bytes = 4096});
  for (unsigned i = 0; i < 8; ++i)
    store
        .put(test::key(std::to_string(i)),
             std::vector<std::byte>(20'000 + i, static_cast<std::byte>(i)))
        .value();
  std::atomic<int> wrong{0};
  std::vector<std::thread> crew;
  for (unsigned t = 0; t < 4; ++t) {
    crew.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int round = 0; round < 500; ++round) {
        const unsigned which = random() % 8;
        const auto key = test::key(std::to_string(which));
        if (random() % 10 == 0) {
          static_cast<void>(store.put(
              key, std::vector<std::byte>(20'000 + which, static_cast<std::byte>(which))));
          continue;
        }
        const auto object = store.open(key).value();
        std::vector<std::byte> part(random() % 9000);
        if (!object->read(random() % 10'000, part) || object->size() != 20'000 + which ||
            std::count(part.begin(), part.end(), static_cast<std::byte>(which)) !=
                static_cast<std::ptrdiff_t>(part.size()))
          ++wrong;
      }
    });
  }
  for (std::thread& one : crew) one.join();
  CHECK(wrong == 0);
  CHECK(store.counts().bytes <= 60'000);
  CHECK(store.counts().hits > 0);
}
