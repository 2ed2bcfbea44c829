// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/indexed_array.hpp>
#include <zarrpoint/array/shard_index_cache.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/thread_pool.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shard_index_cache_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

/// Reads an index of `count` entries, and counts.
struct reader {
  int& reads;
  std::uint64_t count = 4;

  result<shard_index_cache::index_pointer> operator()() const {
    ++reads;
    ZARRPOINT_TRY(made, shard_index::make(count));
    return std::make_shared<const shard_index>(std::move(made));
  }
};

}  // namespace

TEST_CASE("an index is read once, again for an object of another size, and after a failure") {
  shard_index_cache cache;
  int reads = 0;
  const auto first = cache.get("a", 100, reader{reads}).value();
  CHECK(first->size() == 4);
  CHECK(cache.get("a", 100, reader{reads}).value() == first);
  CHECK(reads == 1);
  CHECK(cache.get("b", 100, reader{reads}).value() != first);
  CHECK(cache.get("a", 101, reader{reads}).value() != first);
  CHECK(reads == 3);
  const auto fails = []() -> result<shard_index_cache::index_pointer> {
    return error{errc::corrupt, "no index"};
  };
  CHECK(cache.get("c", 1, fails).failure().code == errc::corrupt);
  CHECK(cache.get("c", 1, reader{reads}));
  CHECK(reads == 4);
}

TEST_CASE("no more is kept than allowed; what was used last stays") {
  shard_index_cache cache(4000);
  int reads = 0;
  for (const char* key : {"a", "b", "a", "c", "a", "d", "a"})  // three of about 900 bytes
    CHECK(cache.get(key, 1, reader{reads, 64}));
  CHECK(reads == 4);
  for (int i = 0; i < 100; ++i) {
    CHECK(cache.get("x" + std::to_string(i), 1, reader{reads, 64}));
    CHECK(cache.bytes() <= 4000);
  }
  CHECK(reads == 104);
  CHECK(cache.get("a", 1, reader{reads, 64}));
  CHECK(reads == 105);
  CHECK(cache.get("large", 1, reader{reads, 1000}).value()->size() == 1000);  // never kept
  CHECK(cache.get("large", 1, reader{reads, 1000}));
  CHECK(reads == 107);
  CHECK(cache.bytes() <= 4000);
  shard_index_cache none(0);
  CHECK(none.get("a", 1, reader{reads}));
  CHECK(none.bytes() == 0);
  CHECK(shard_index_cache::share_of(SIZE_MAX) == std::size_t{16} << 20);
  CHECK(shard_index_cache::share_of(64) == 2);
}

TEST_CASE("threads that need an index at the same time read it once") {
  const thread_pool pool(4);
  for (int round = 0; round < 20; ++round) {
    shard_index_cache cache(20'000);
    std::atomic<int> reads{0};
    parallel_for(pool.executor(), 64, [&](std::size_t i) -> result<void> {
      ZARRPOINT_TRY(index, cache.get(std::to_string(i % 4), 1, [&] {
        ++reads;
        int ignored = 0;
        return reader{ignored, i % 4 + 1}();
      }));
      CHECK(index->size() == i % 4 + 1);
      return {};
    }).value();
    CHECK(reads == 4);
  }
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
      // An index outlives the context that it was read with; one without scratch memory keeps none.
      shard_index_cache indexes;
      const read_options options{.indexes = &indexes};
      made.read(box{{0, 0}, {4, 8}}, options).value();
      const array second = array::open(store, key_of("a"), with_scratch({})).value();
      second.read(box{{32, 0}, {4, 8}}, options).value();
      const std::size_t kept = indexes.bytes();
      CHECK(kept > 0);
      array::open(store, key_of("a")).value().read(box{{32, 0}, {4, 8}}, options).value();
      CHECK(indexes.bytes() == kept);
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
