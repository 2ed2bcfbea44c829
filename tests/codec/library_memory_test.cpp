// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/kit/library_memory.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace library_memory_test {

namespace zp = zarrpoint;

TEST_CASE("what a library takes is counted by the resource, and given back whole") {
  zp::limited_resource budget(1000);
  using library = zp::detail::library_memory;
  library own(budget);
  void* const memory = library::allocate(&own, 500);
  REQUIRE(memory != nullptr);
  CHECK(budget.in_use() == 500 + library::header);
  std::memset(memory, 1, 500);
  CHECK(library::allocate(&own, 501) == nullptr);
  CHECK(own.no_memory("a context").message ==
        "cannot allocate 501 bytes for a context: 564 of the 1000 bytes of the budget are in use");
  CHECK(library::allocate(&own, SIZE_MAX) == nullptr);
  CHECK(own.no_memory("x").code == zp::errc::resource_limit);
  CHECK(own.no_memory("x").message.starts_with("cannot allocate " + std::to_string(SIZE_MAX)));
  library::deallocate(&own, nullptr);
  library::deallocate(&own, memory);
  CHECK(budget.in_use() == 0);

#if !defined(ZARRPOINT_TEST_SANITIZED)  // AddressSanitizer ends a program that asks for so much
  library unlimited(zp::default_resource());
  CHECK(library::allocate(&unlimited, SIZE_MAX - 4096) == nullptr);
  CHECK(unlimited.no_memory("a context").message ==
        "cannot allocate " + std::to_string(SIZE_MAX - 4096) +
            " bytes for a context: the resource refused it");
#endif
}

}  // namespace library_memory_test
