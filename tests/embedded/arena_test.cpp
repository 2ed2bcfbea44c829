// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <arena.hpp>
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace {
alignas(64) std::array<std::byte, 4096> memory;
}

TEST_CASE("pieces of an arena are aligned, apart, and its own") {
  example::arena arena(memory.data(), memory.size());
  struct piece {
    unsigned char* at;
    std::size_t size;
    std::size_t alignment;
    unsigned char mark;
  };
  std::vector<piece> held;
  std::size_t refused = 0;
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2 == 0 || held.empty()) {
      const std::size_t size = random() % 300 + 1;
      const std::size_t alignment = std::size_t{1} << (random() % 8);
      auto* const at = static_cast<unsigned char*>(arena.allocate(size, alignment));
      if (at == nullptr) {
        ++refused;
        continue;
      }
      REQUIRE(reinterpret_cast<std::uintptr_t>(at) % alignment == 0);
      REQUIRE(reinterpret_cast<std::byte*>(at) >= memory.data());
      REQUIRE(reinterpret_cast<std::byte*>(at) + size <= memory.data() + memory.size());
      const auto mark = static_cast<unsigned char>(i);
      std::memset(at, mark, size);
      held.push_back({at, size, alignment, mark});
    } else {
      const std::size_t which = random() % held.size();
      const piece one = held[which];
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
      for (std::size_t b = 0; b < one.size; ++b) REQUIRE(one.at[b] == one.mark);
      arena.deallocate(one.at, one.size, one.alignment);
    }
  }
  CHECK(refused > 100);
  for (const piece& one : held) arena.deallocate(one.at, one.size, one.alignment);
  CHECK(arena.in_use() == 0);
  CHECK(arena.peak() <= memory.size());

  void* const all = arena.allocate(memory.size(), 64);  // the gaps have become one again
  CHECK(all == memory.data());
  CHECK(arena.allocate(1, 1) == nullptr);
  arena.deallocate(all, memory.size(), 64);
  CHECK(arena.allocate(memory.size() + 1, 1) == nullptr);
  CHECK(arena.allocate(SIZE_MAX, 1) == nullptr);
}
