// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/kit/library_memory.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>

namespace library_memory_test {

namespace zp = zarrpoint;

TEST_CASE("what a library takes is counted by the resource, and given back whole") {
  zp::limited_resource budget(1000);
  void* const memory = zp::detail::library_memory::allocate(&budget, 500);
  REQUIRE(memory != nullptr);
  CHECK(budget.in_use() == 564);
  std::memset(memory, 1, 500);
  CHECK(zp::detail::library_memory::allocate(&budget, 500) == nullptr);
  CHECK(zp::detail::library_memory::allocate(&budget, SIZE_MAX) == nullptr);
  zp::detail::library_memory::deallocate(&budget, nullptr);
  zp::detail::library_memory::deallocate(&budget, memory);
  CHECK(budget.in_use() == 0);
}

}  // namespace library_memory_test
