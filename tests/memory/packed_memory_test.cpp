// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#if ZARRPOINT_LINUX
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace packed_memory_test {

namespace zp = zarrpoint;
using zp::detail::packed_memory;

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t huge = 2 * mebibyte;

struct block {
  zp::memory_resource* from = nullptr;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::byte filled{};

  static block take(packed_memory& of, std::size_t bytes, std::byte with) {
    zp::memory_resource& from = of.resource_for(bytes);
    block out{&from, static_cast<std::byte*>(from.allocate(bytes, 64)), bytes, with};
    REQUIRE(out.data != nullptr);
    std::memset(out.data, static_cast<int>(with), bytes);
    return out;
  }
  bool is_whole() const {
    return std::all_of(data, data + bytes, [this](std::byte one) { return one == filled; });
  }
  void give_back() { from->deallocate(data, bytes, 64); }
};

/// What is asked for before anything is packed.
void ask_much(packed_memory& of) {
  for (int i = 0; i < 32; ++i) CHECK(&of.resource_for(mebibyte) == &zp::default_resource());
}

void ask_much_of_small(packed_memory& of) {
  for (int i = 0; i < 64; ++i) CHECK(&of.resource_for(128 * kibibyte) == &zp::default_resource());
}

TEST_CASE("packed_memory: blocks lie side by side once much was asked for") {
  packed_memory packed;
  ask_much(packed);
  block a = block::take(packed, 5 * mebibyte / 2, std::byte{1});
  block b = block::take(packed, mebibyte, std::byte{2});
#if ZARRPOINT_LINUX
  CHECK(a.from != &zp::default_resource());
  CHECK(a.from == b.from);
  CHECK(b.data == a.data + a.bytes);
#endif
  CHECK(a.is_whole());
  CHECK(b.is_whole());
  a.give_back();
  CHECK(b.is_whole());
  b.give_back();
}

TEST_CASE("packed_memory: small blocks lie side by side, too, but those of a few bytes") {
  packed_memory packed;
  ask_much_of_small(packed);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{2047}, 128 * kibibyte + 1})
    CHECK(&packed.resource_for(bytes) == &zp::default_resource());
  block a = block::take(packed, 12580, std::byte{1});
  block b = block::take(packed, 2048, std::byte{2});
  block c = block::take(packed, 128 * kibibyte, std::byte{3});
#if ZARRPOINT_LINUX
  CHECK(a.from != &zp::default_resource());
  CHECK(a.from == b.from);
  CHECK(b.data == a.data + 12608);
  CHECK(c.data == b.data + 2048);
#endif
  a.give_back();
  for (block* one : {&b, &c}) {
    CHECK(one->is_whole());
    one->give_back();
  }
}

TEST_CASE("packed_memory: many small blocks, in any order, and after their owner is gone") {
  std::mt19937 random(17);
  std::vector<block> live;
  {
    packed_memory packed;
    ask_much_of_small(packed);
    for (unsigned i = 0; i < 2000; ++i) {
      const std::size_t bytes = 2048 + random() % (i % 50 == 0 ? 126 * kibibyte : 6 * kibibyte);
      live.push_back(block::take(packed, bytes, static_cast<std::byte>(i)));
      if (random() % 3 != 0) continue;
      std::swap(live[random() % live.size()], live.back());
      REQUIRE(live.back().is_whole());
      live.back().give_back();
      live.pop_back();
    }
  }
  while (!live.empty()) {
    std::swap(live[random() % live.size()], live.back());
    REQUIRE(live.back().is_whole());
    live.back().give_back();
    live.pop_back();
  }
}

TEST_CASE("packed_memory: blocks in the middle, and those that huge pages nearly fill, lie alone") {
  packed_memory packed;
  ask_much(packed);
  ask_much_of_small(packed);
  CHECK(&packed.resource_for(0) == &zp::default_resource());
  CHECK(&packed.resource_for(mebibyte / 2 - 1) == &zp::default_resource());
  CHECK(&packed.resource_for(64 * mebibyte + 1) == &zp::default_resource());
  CHECK(&packed.resource_for(SIZE_MAX) == &zp::default_resource());
}

TEST_CASE("packed_memory: a block of another size than was announced") {
  packed_memory packed;
  ask_much(packed);
  zp::memory_resource& from = packed.resource_for(mebibyte);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, 300 * mebibyte}) {
    CAPTURE(bytes);
    auto* const data = static_cast<std::byte*>(from.allocate(bytes, 64));
    REQUIRE(data != nullptr);
    data[0] = data[bytes - 1] = std::byte{7};
    from.deallocate(data, bytes, 64);
  }
  for (const std::size_t alignment : {std::size_t{1}, std::size_t{8192}, huge, 2 * huge}) {
    CAPTURE(alignment);
    void* const data = from.allocate(mebibyte, alignment);
    REQUIRE(data != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(data) % alignment == 0);
    from.deallocate(data, mebibyte, alignment);
  }
  CHECK(from.allocate(SIZE_MAX / 4, 64) == nullptr);
}

TEST_CASE("packed_memory: more than a region, in any order, and after its owner is gone") {
  std::mt19937 random(16);
  std::vector<block> live;
  {
    packed_memory packed;
    ask_much(packed);
    for (unsigned i = 0; i < 150; ++i) {
      const std::size_t bytes = mebibyte / 2 + random() % (5 * mebibyte);
      live.push_back(block::take(packed, bytes, static_cast<std::byte>(i)));
      if (random() % 3 != 0) continue;
      std::swap(live[random() % live.size()], live.back());
      REQUIRE(live.back().is_whole());
      live.back().give_back();
      live.pop_back();
    }
  }
  while (!live.empty()) {
    std::swap(live[random() % live.size()], live.back());
    REQUIRE(live.back().is_whole());
    live.back().give_back();
    live.pop_back();
  }
}

#if ZARRPOINT_LINUX
std::size_t resident(const std::byte* begin, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t skipped = reinterpret_cast<std::uintptr_t>(begin) % page;
  std::vector<unsigned char> pages((bytes + skipped + page - 1) / page);
  REQUIRE(mincore(const_cast<std::byte*>(begin) - skipped, bytes + skipped, pages.data()) == 0);
  const auto there =
      std::count_if(pages.begin(), pages.end(), [](unsigned char one) { return (one & 1) != 0; });
  return static_cast<std::size_t>(there) * page;
}

TEST_CASE("packed_memory: a block that is kept keeps no more than the huge pages that it lies in") {
  packed_memory packed;
  ask_much(packed);
  std::vector<block> all;
  for (int i = 0; i < 20; ++i) all.push_back(block::take(packed, 3 * mebibyte, std::byte{5}));
  const std::byte* const first = all.front().data;
  const auto whole = static_cast<std::size_t>(all.back().data + all.back().bytes - first);
  REQUIRE(resident(first, whole) == whole);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i != 7) all[i].give_back();
  CHECK(all[7].is_whole());
  CHECK(resident(first, whole) <= 3 * mebibyte + 2 * huge);
  all[7].give_back();
  CHECK(resident(first, whole) == 0);
}

TEST_CASE("packed_memory: a small block that is kept keeps four times its small pages at most") {
  for (const bool is_owned : {true, false}) {
    auto packed = std::make_unique<packed_memory>();
    ask_much_of_small(*packed);
    std::vector<block> all;
    for (int i = 0; i < 150; ++i) all.push_back(block::take(*packed, 12580, std::byte{5}));
    REQUIRE(all.back().from == all.front().from);
    if (!is_owned) packed.reset();
    const std::byte* const first = all.front().data;
    const auto whole = static_cast<std::size_t>(all.back().data + all.back().bytes - first);
    REQUIRE(resident(first, whole) >= whole);
    std::shuffle(all.begin(), all.end(), std::mt19937(18));
    std::size_t pages = 0;
    while (all.size() > 1) {
      all.back().give_back();
      all.pop_back();
      // Each lies in five small pages, or four.
      pages = resident(first, whole) / static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
      if (sysconf(_SC_PAGESIZE) == 4096) CHECK(pages <= 4 * 5 * all.size());
    }
    CHECK(all[0].is_whole());
    all[0].give_back();
    if (is_owned) CHECK(resident(first, whole) == 0);
  }
}

TEST_CASE("packed_memory: the next page of small blocks is there before it is used") {
  packed_memory packed;
  ask_much_of_small(packed);
  constexpr std::size_t bytes = 100 * kibibyte;
  std::vector<std::pair<zp::memory_resource*, std::byte*>> all;
  int regions = 0;
  while (regions < 4) {
    zp::memory_resource& from = packed.resource_for(bytes);
    auto* const data = static_cast<std::byte*>(from.allocate(bytes, 64));
    REQUIRE(data != nullptr);
    if (all.empty() || all.back().first != &from) {
      if (regions > 0) CHECK(resident(data, 1) != 0);  // the first was made when it was asked for
      ++regions;
    }
    all.emplace_back(&from, data);
  }
  for (const auto& [from, data] : all) from->deallocate(data, bytes, 64);
}

TEST_CASE("packed_memory: a single small block of a huge page does not keep the page") {
  auto packed = std::make_unique<packed_memory>();
  ask_much_of_small(*packed);
  block one = block::take(*packed, 2 << 10, std::byte{5});
  const auto past = reinterpret_cast<std::uintptr_t>(one.data) % huge;
  const std::byte* const page = one.data - past;
  packed.reset();
  CHECK(one.is_whole());
  if (sysconf(_SC_PAGESIZE) == 4096) CHECK(resident(page, huge) <= 8192);
  one.give_back();
}
#endif

TEST_CASE(
    "packed_memory: a block that found no room in its region is given back to it all the same") {
  // As when other threads take the room between the two calls: it may be the last block of all.
  for (const std::size_t bytes : {100 * kibibyte, 30 * mebibyte}) {
    auto packed = std::make_unique<packed_memory>();
    ask_much(*packed);
    ask_much_of_small(*packed);
    zp::memory_resource& from = packed->resource_for(bytes);
    std::vector<block> all;
    for (unsigned i = 0; i < 25; ++i) {
      all.push_back(
          {&from, static_cast<std::byte*>(from.allocate(bytes, 64)), bytes, std::byte{7}});
      REQUIRE(all.back().data != nullptr);
    }
    std::memset(all.back().data, 7, bytes);
    packed.reset();
    CHECK(all.back().is_whole());
    for (block& one : all) one.give_back();
  }
}

void take_and_give_back(std::size_t least, unsigned blocks) {
  std::vector<block> left[4];
  {
    packed_memory packed;
    ask_much(packed);
    ask_much_of_small(packed);
    std::vector<std::thread> crew;
    for (unsigned t = 0; t < 4; ++t)
      crew.emplace_back([&packed, &mine = left[t], t, least, blocks] {
        std::mt19937 random(t);
        for (unsigned i = 0; i < blocks; ++i) {
          const std::size_t bytes = least + random() % (2 * least);
          zp::memory_resource& from = packed.resource_for(bytes);
          auto* const data = static_cast<std::byte*>(from.allocate(bytes, 64));
          if (data == nullptr) continue;
          const auto with = static_cast<std::byte>(t * 64 + i);
          std::memset(data, static_cast<int>(with), bytes);
          mine.push_back({&from, data, bytes, with});
          if (i % 2 == 0) continue;
          mine.front().give_back();
          mine.erase(mine.begin());
        }
      });
    for (std::thread& one : crew) one.join();
  }
  for (auto& mine : left) {
    REQUIRE(!mine.empty());
    for (block& one : mine) {
      CHECK(one.is_whole());
      one.give_back();
    }
  }
}

TEST_CASE("packed_memory: threads take and give back at once") {
  take_and_give_back(mebibyte / 2, 40);
  take_and_give_back(20 * kibibyte, 400);
}

}  // namespace packed_memory_test
