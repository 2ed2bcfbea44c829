// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/cache_store.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/store_conformance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace cache_store_test {

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

/// A store that calls `hook` just before and just after each change of its objects.
struct hooked_store {
  using hook_type = std::shared_ptr<std::function<void()>>;

  template <class F>
  static auto around(const hook_type& hook, F&& change) {
    (*hook)();
    auto done = change();
    (*hook)();
    return done;
  }

  struct writer final : blob_writer {
    writer(std::unique_ptr<blob_writer> to, hook_type called)
        : inner(std::move(to)), hook(std::move(called)) {}
    result<void> write(std::uint64_t offset, bytes_view bytes) override {
      return inner->write(offset, bytes);
    }
    result<void> read(std::uint64_t offset, mutable_bytes into) const override {
      return inner->read(offset, into);
    }
    result<void> finish() override {
      return around(hook, [&] { return inner->finish(); });
    }
    std::unique_ptr<blob_writer> inner;
    hook_type hook;
  };
  struct staged final : publication {
    staged(std::unique_ptr<publication> of, hook_type called)
        : inner(std::move(of)), hook(std::move(called)) {}
    any_store store() const override { return inner->store(); }
    result<void> commit() override {
      return around(hook, [&] { return inner->commit(); });
    }
    std::unique_ptr<publication> inner;
    hook_type hook;
  };

  result<std::unique_ptr<blob>> open(const store_key& key) const { return memory.open(key); }
  std::string describe(const store_key& key) const { return memory.describe(key); }
  result<void> put(const store_key& key, bytes_view bytes) const {
    return around(hook, [&] { return memory.put(key, bytes); });
  }
  result<bool> erase(const store_key& key) const {
    return around(hook, [&] { return memory.erase(key); });
  }
  result<void> rename(const store_key& from, const store_key& to) const {
    return around(hook, [&] { return memory.rename(from, to); });
  }
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const {
    ZARRPOINT_TRY(made, memory.create(key));
    return std::unique_ptr<blob_writer>(std::make_unique<writer>(std::move(made), hook));
  }
  result<std::vector<list_entry>> list(const store_key& prefix) const {
    return memory.list(prefix);
  }
  result<std::unique_ptr<publication>> stage(const store_key& key,
                                             const publish_options& how = {}) const {
    ZARRPOINT_TRY(made, memory.stage(key, how));
    return std::unique_ptr<publication>(std::make_unique<staged>(std::move(made), hook));
  }

  memory_store memory{};
  hook_type hook = std::make_shared<std::function<void()>>([] {});
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

TEST_CASE("cache_store: a read while an object changes never mixes old and new bytes") {
  const hooked_store base;
  const cache_store store(base, {.bytes = 1 << 20, .block_bytes = 4096});
  const auto key = test::key("a/b");
  const std::vector<std::byte> one(8192, std::byte{1}), two(8192, std::byte{2});
  const auto check = [&](std::string_view what, auto&& change) {
    CAPTURE(what);
    *base.hook = [] {};
    store.put(key, one).value();
    const auto before = store.open(key).value();
    int hooks = 0;
    std::vector<std::byte> whole(8192);
    std::vector<std::byte> half(4096);
    *base.hook = [&] {
      before->read(0, half).value();  // as it was, and not to be cached
      CHECK(half[0] == std::byte{1});
      const auto object = store.open(key).value();
      if (hooks++ == 0) {
        object->read(0, half).value();
      } else if (object != nullptr) {
        object->read(0, whole).value();
        CHECK((whole == two));
      }
    };
    change();
    CHECK(hooks == 2);
    *base.hook = [] {};
    const auto after = store.open(key).value();
    if (after != nullptr) {
      after->read(0, whole).value();
      CHECK((whole == two));
    }
  };
  check("put", [&] { store.put(key, two).value(); });
  check("erase", [&] {
    store.erase(key).value();
    CHECK(store.open(key).value() == nullptr);
  });
  check("finish", [&] {
    const auto writer = store.create(key).value();
    writer->write(0, two).value();
    writer->finish().value();
  });
  check("commit", [&] {
    const auto staged = store.stage(test::key("a"), {.overwrite = true}).value();
    staged->store().put(test::key("b"), two).value();
    staged->commit().value();
  });
  check("rename", [&] { store.rename(test::key("a"), test::key("c")).value(); });
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

}  // namespace cache_store_test
