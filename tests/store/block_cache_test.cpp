// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/block_cache.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace block_cache_test {

using namespace zarrpoint;

namespace {

detail::block_cache::block bytes_of(std::size_t size) {
  return std::make_shared<const std::vector<std::byte>>(size);
}

}  // namespace

TEST_CASE("block_cache: what was used last is kept, within the bound") {
  detail::block_cache cache({.bytes = 300, .block_bytes = 1});
  CHECK(cache.block_bytes() == 4096);
  const auto has = [&](const std::string& key) { return cache.find(0, key, 0) != nullptr; };
  for (const char* key : {"a", "b", "c"}) cache.insert(0, key, 100, {0, bytes_of(100)});
  CHECK(cache.counts().bytes == 300);
  CHECK(has("a"));  // now b is the oldest
  cache.insert(0, "d", 100, {0, bytes_of(100)});
  CHECK_FALSE(has("b"));
  CHECK(has("a"));
  CHECK(has("d"));
  CHECK(cache.size_of(0, "a") == 100);
  CHECK_FALSE(cache.size_of(0, "b").has_value());
  cache.insert(0, "large", 301, {0, bytes_of(301)});
  CHECK_FALSE(has("large"));
  CHECK(cache.counts().bytes == 300);
  CHECK(cache.counts().hits == 3);
  CHECK(cache.counts().misses == 2);
}

TEST_CASE("block_cache: what has changed is forgotten, and no old block comes after") {
  detail::block_cache cache({.bytes = 10'000});
  for (const char* key : {"a", "a-b", "a/b", "a/b/c", "ab", "b"}) {
    cache.insert(0, key, 10, {0, bytes_of(10)});
    cache.insert(0, key, 10, {1, bytes_of(10)});
  }
  cache.forget("a");
  CHECK(cache.epoch() == 1);
  CHECK(cache.find(0, "b", 0) == nullptr);  // of an earlier epoch
  for (const char* key : {"a", "a/b", "a/b/c"}) CHECK(cache.find(1, key, 1) == nullptr);
  for (const char* key : {"a-b", "ab", "b"}) CHECK(cache.find(1, key, 1) != nullptr);
  cache.insert(0, "a", 10, {0, bytes_of(10)});
  CHECK(cache.find(1, "a", 0) == nullptr);
  cache.forget({});
  CHECK(cache.counts().bytes == 0);
  CHECK_FALSE(cache.size_of(cache.epoch(), "b").has_value());
  // Where nothing may throw, nothing takes memory.
  static_assert(noexcept(cache.forget("a"))&& noexcept(cache.begin_change("a"))&& noexcept(
      cache.end_change()));
}

TEST_CASE("block_cache: while something changes, nothing is found and nothing added") {
  detail::block_cache cache({.bytes = 10'000});
  for (const char* key : {"a", "b"}) cache.insert(0, key, 10, {0, bytes_of(10)});
  cache.begin_change("a");
  const std::uint64_t meanwhile = cache.epoch();
  CHECK_FALSE(cache.size_of(meanwhile, "b").has_value());
  CHECK(cache.find(meanwhile, "b", 0) == nullptr);
  cache.insert(meanwhile, "a", 10, {0, bytes_of(10)});
  cache.begin_change("c");
  cache.end_change();
  CHECK(cache.epoch() == meanwhile);  // the other still goes on
  cache.end_change();
  const std::uint64_t after = cache.epoch();
  CHECK(after != meanwhile);
  CHECK(cache.find(after, "a", 0) == nullptr);
  CHECK(cache.find(after, "b", 0) != nullptr);
  cache.insert(meanwhile, "a", 10, {0, bytes_of(10)});
  CHECK(cache.find(after, "a", 0) == nullptr);
}

}  // namespace block_cache_test
