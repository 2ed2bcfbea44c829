// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/file/direct_writes.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace staging_blocks_test {

using namespace zarrpoint::detail;

TEST_CASE("staging_blocks: aligned, and used again") {
  staging_blocks blocks;
  std::byte* const first = blocks.take();
  std::byte* const second = blocks.take();
  REQUIRE(first != nullptr);
  REQUIRE(second != nullptr);
  CHECK(first != second);
  for (const std::byte* block : {first, second})
    CHECK(reinterpret_cast<std::uintptr_t>(block) % direct_alignment == 0);
  blocks.give(first);
  CHECK(blocks.take() == first);
  blocks.give(first);
  blocks.give(second);
  CHECK(blocks.take() == second);
  CHECK(blocks.take() == first);
  std::byte* const third = blocks.take();
  CHECK(third != first);
  CHECK(third != second);
  static_assert(noexcept(blocks.give(third)));
  for (std::byte* block : {first, second, third}) blocks.give(block);
}

}  // namespace staging_blocks_test
