// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/indexed_array.hpp>
#include <zarrpoint/array/shard/shard_index_cache.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/thread_pool.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace shard_index_cache_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

/// An object that knows whether it is open.
struct counted_blob final : blob {
  explicit counted_blob(int& of) : open(of) { ++open; }
  ~counted_blob() override { --open; }
  std::uint64_t size() const noexcept override { return 0; }
  using blob::read;
  result<void> read(std::uint64_t, mutable_bytes) const override { return {}; }
  std::string name() const override { return "counted"; }

  int& open;
};

/// Opens a shard with an index of `count` entries, and counts.
struct opener {
  int& calls;
  std::uint64_t count = 4;
  int* open = nullptr;

  result<shard_index_cache::shard> operator()() const {
    ++calls;
    shard_index_cache::shard out;
    if (open != nullptr) out.bytes = std::make_shared<counted_blob>(*open);
    ZARRPOINT_TRY(made, detail::shard_index::make(count));
    made.set(0, {7, 9});
    out.index = std::make_shared<const detail::shard_index>(std::move(made));
    return out;
  }
};

}  // namespace

TEST_CASE("a shard is opened once, again after a failure and once it is forgotten") {
  shard_index_cache cache;
  int calls = 0;
  int open = 0;
  const auto first = cache.get("a", opener{calls, 4, &open}).value();
  CHECK(first.index->size() == 4);
  CHECK((*first.index)[0] == detail::shard_entry{7, 9});
  CHECK((*first.index)[3].absent());
  const auto again = cache.get("a", opener{calls}).value();
  CHECK((again.index == first.index && again.bytes == first.bytes));
  CHECK(calls == 1);
  CHECK(cache.get("b", opener{calls}).value().index != first.index);
  CHECK(calls == 2);
  const auto fails = []() -> result<shard_index_cache::shard> {
    return error{errc::corrupt, "no index"};
  };
  CHECK(cache.get("c", fails).failure().code == errc::corrupt);
  CHECK(cache.get("c", opener{calls}));
  CHECK(calls == 3);
  const auto missing = [&]() -> result<shard_index_cache::shard> {
    ++calls;
    return shard_index_cache::shard{};
  };
  CHECK(cache.get("d", missing).value().index == nullptr);
  CHECK(cache.get("d", missing).value().bytes == nullptr);
  CHECK(calls == 5);
  cache.clear();
  CHECK(cache.bytes() == 0);
  CHECK(cache.get("a", opener{calls}).value().index != first.index);
  CHECK(calls == 6);
  // What is being opened while all is forgotten is not kept.
  const auto forgets = [&] {
    cache.clear();
    return opener{calls}();
  };
  CHECK(cache.get("e", forgets));
  CHECK(cache.bytes() == 0);
}

TEST_CASE("no more is kept than allowed; what was used last stays") {
  shard_index_cache cache(4000);
  int calls = 0;
  for (const char* key : {"a", "b", "a", "c", "a", "d", "a"})  // three of about 1300 bytes
    CHECK(cache.get(key, opener{calls, 64}));
  CHECK(calls == 4);
  for (int i = 0; i < 100; ++i) {
    CHECK(cache.get("x" + std::to_string(i), opener{calls, 64}));
    CHECK(cache.bytes() <= 4000);
  }
  CHECK(calls == 104);
  CHECK(cache.get("a", opener{calls, 64}));
  CHECK(calls == 105);
  const std::size_t kept = cache.bytes();
  CHECK(cache.get("large", opener{calls, 1000}).value().index->size() == 1000);
  CHECK(cache.get("large", opener{calls, 1000}));  // never kept, nor are others dropped for it
  CHECK(calls == 107);
  CHECK(cache.bytes() == kept);
  CHECK(cache.get("a", opener{calls, 64}));
  CHECK(calls == 107);
  shard_index_cache none(0);
  CHECK(none.get("a", opener{calls}));
  CHECK(none.bytes() == 0);
  CHECK(shard_index_cache::share_of(SIZE_MAX) == std::size_t{16} << 20);
  CHECK(shard_index_cache::share_of(64) == 2);
  // Of open objects there are no more than allowed either.
  int open = 0;
  {
    shard_index_cache few(std::size_t{16} << 20, 2);
    for (int i = 0; i < 20; ++i) {
      CHECK(few.get(std::to_string(i % 5), opener{calls, 4, &open}));
      CHECK(open <= 2);
    }
    few.clear();
    CHECK(open == 0);
  }
}

TEST_CASE("an index without its shard is kept by a version, one for each key") {
  using index_version = shard_index_cache::index_version;
  const index_version first{{{1, 2}}, 3};
  const index_version second{{{1, 2}}, 4};
  const index_version third{{{1, 3}}, 3};
  const auto index_of = [](std::uint64_t count) {
    detail::shard_index made = detail::shard_index::make(count).value();
    made.set(0, {count, 9});
    return made;
  };
  shard_index_cache cache(4000, SIZE_MAX);
  CHECK(cache.find("a", first) == nullptr);
  cache.keep("a", first, index_of(4));
  const auto kept = cache.find("a", first);
  REQUIRE(kept != nullptr);
  CHECK((*kept)[0] == detail::shard_entry{4, 9});
  CHECK(cache.find("a", second) == nullptr);
  CHECK(cache.find("a", third) == nullptr);
  CHECK(cache.find("b", first) == nullptr);
  const std::size_t bytes = cache.bytes();
  cache.keep("a", second, index_of(4));
  CHECK(cache.bytes() == bytes);
  CHECK(cache.find("a", first) == nullptr);
  CHECK(cache.find("a", second) != nullptr);
  // One that is too large leaves what is kept as it is.
  cache.keep("a", third, index_of(1000));
  CHECK(cache.find("a", third) == nullptr);
  CHECK(cache.find("a", second) != nullptr);
  for (int i = 0; i < 20; ++i) {
    cache.keep("x" + std::to_string(i), first, index_of(64));
    CHECK(cache.find("a", second) != nullptr);
    CHECK(cache.bytes() <= 4000);
  }
  CHECK(cache.find("x0", first) == nullptr);
  CHECK(cache.find("x19", first) != nullptr);
  // Without its shard it does not stand for one, nor the other way round.
  int calls = 0;
  CHECK(cache.get("a", opener{calls, 4}));
  CHECK(cache.get("a", opener{calls, 4}));
  CHECK(calls == 1);
  CHECK(cache.find("a", second) == nullptr);
  CHECK(kept->size() == 4);
  cache.clear();
  CHECK(cache.find("x19", first) == nullptr);
  CHECK(cache.bytes() == 0);
}

TEST_CASE("threads that need a shard at the same time open it once, or fail together") {
  const thread_pool pool(4);
  for (int round = 0; round < 20; ++round) {
    shard_index_cache cache(20'000);
    std::atomic<int> calls{0};
    parallel_for(pool.executor(), 64, [&](std::size_t i) -> result<void> {
      ZARRPOINT_TRY(found, cache.get(std::to_string(i % 4), [&] {
        ++calls;
        int ignored = 0;
        return opener{ignored, i % 4 + 1}();
      }));
      CHECK(found.index->size() == i % 4 + 1);
      return {};
    }).value();
    CHECK(calls == 4);
  }
  // All readers that waited get the failure; later readers try again.
  shard_index_cache cache;
  std::atomic<int> calls{0};
  std::atomic<int> others{0};
  std::atomic<int> failed{0};
  const auto fails = [&]() -> result<shard_index_cache::shard> {
    ++calls;
    while (others != 2) std::this_thread::yield();
    for (int i = 0; i < 100; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return error{errc::io, "out of order"};
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      while (i != 0 && calls == 0) std::this_thread::yield();
      if (i != 0) ++others;
      if (!cache.get("a", fails)) ++failed;
    });
  }
  for (std::thread& one : threads) one.join();
  CHECK(failed == 3);
  CHECK(calls == 1);
  int later = 0;
  CHECK(cache.get("a", opener{later}));
  CHECK(later == 1);
}

TEST_CASE("reads of one array share its indexes, and so do the parts of one that picks elements") {
  const dims shape{64, 8};
  const std::vector<std::int32_t> values = counting(shape);
  for (const bool is_nested : {false, true}) {
    array_metadata metadata = raw_metadata(dtype_kind::int32, shape, {32, 8});
    if (is_nested) metadata = sharded_metadata(metadata, {2, 2});
    metadata = sharded_metadata(metadata, {4, 8});
    const recording_store store;
    const array made = array::create(store, key_of("a"), metadata, with_scratch({})).value();
    made.write(box::whole(shape), view_of(values, shape)).value();
    const auto reads_of = [&](shard_index_cache* indexes) {
      const auto before = store->reads.load();
      for (index_t row = 0; row < 64; row += 4) {
        std::vector<std::int32_t> got(32);
        made.read(box{{row, 0}, {4, 8}}, view_of(got, {4, 8}), {.indexes = indexes}).value();
        CHECK(std::equal(got.begin(), got.end(), values.begin() + row * 8));
      }
      return store->reads - before;
    };
    const auto alone = reads_of(nullptr);
    {
      shard_index_cache indexes;
      CHECK(reads_of(&indexes) == alone - 14);  // two shards, each read by eight pieces
      CHECK(reads_of(&indexes) == alone - 16);
    }
    {
      // An index outlives the context that it was read with, and takes nothing of it along.
      shard_index_cache indexes;
      const read_options options{.indexes = &indexes};
      context how = with_scratch({});
      const std::weak_ptr<scratch_pool> memory = how.scratch;
      array::open(store, key_of("a"), how).value().read(box{{0, 0}, {4, 8}}, options).value();
      how = {};
      CHECK(memory.expired());
      const std::size_t kept = indexes.bytes();
      CHECK(kept > 0);
      const auto opened = store->opens.load();
      made.read(box{{8, 0}, {4, 8}}, options).value();
      CHECK(store->opens == opened);
      CHECK(indexes.bytes() == kept);
      array::open(store, key_of("a")).value().read(box{{32, 0}, {4, 8}}, options).value();
      CHECK(indexes.bytes() > kept);
    }
    {
      // What some expect is told for each read, no matter which read opened the shard.
      shard_index_cache indexes;
      chunk_digests digests;
      recording_store other;
      const array small = array::create(other, key_of("a"), metadata).value();
      small.write(box::whole(shape), view_of(values, shape), {.collected = &digests}).value();
      recording_store::bytes longer = other.at("a/c/0/0");
      longer.resize(longer.size() + 16);
      other.set("a/c/0/0", longer);
      const box part{{0, 0}, {4, 8}};
      const auto refused = small.read(part, {.expected = &digests, .indexes = &indexes});
      REQUIRE_FALSE(refused);
      CHECK(refused.failure().message.find(" that were saved") != std::string::npos);
      CHECK(indexes.bytes() == 0);
    }
    const auto before = store->reads.load();
    std::vector<dims> points;
    for (index_t row = 0; row < 64; row += 4) points.push_back({row, 1});
    std::vector<std::int32_t> picked(points.size());
    read_points(made, points, view_of(picked, {16})).value();
    CHECK(picked[1] == values[33]);
    CHECK(store->reads - before <= 2 + 16 * (is_nested ? 2U : 1U));
  }
}

}  // namespace shard_index_cache_test
