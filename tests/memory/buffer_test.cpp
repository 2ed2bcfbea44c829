// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/buffer.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <utility>

namespace buffer_test {

namespace zp = zarrpoint;

TEST_CASE("buffer: nothing at first, aligned once allocated") {
  zp::buffer none;
  CHECK(none.empty());
  CHECK(none.data() == nullptr);
  for (const std::size_t bytes : {1u, 63u, 4096u, 3u << 20}) {
    zp::buffer buffer = zp::buffer::allocate(bytes).value();
    CHECK(buffer.size() == bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == 0);
    std::memset(buffer.data(), 1, bytes);
    CHECK(buffer.bytes().size() == bytes);
    CHECK(std::as_const(buffer).bytes().data() == buffer.data());
  }
  zp::limited_resource resource(1 << 20);
  zp::buffer aligned = zp::buffer::allocate(100, resource, 4096).value();
  CHECK(reinterpret_cast<std::uintptr_t>(aligned.data()) % 4096 == 0);
}

TEST_CASE("buffer: zero bytes need no allocation") {
  zp::limited_resource resource(0);
  zp::buffer empty = zp::buffer::allocate(0, resource).value();
  CHECK(empty.empty());
  CHECK(empty.bytes().empty());
}

TEST_CASE("buffer: the resource's refusal is an error that says how much was asked for") {
  zp::limited_resource resource(100);
  const auto refused = zp::buffer::allocate(101, resource);
  REQUIRE(!refused);
  CHECK(refused.failure().code == zp::errc::resource_limit);
  CHECK(refused.failure().message ==
        "cannot allocate 101 bytes: 0 of the 100 bytes of the budget are in use");
}

TEST_CASE("buffer: what has room in the budget, and the caller's resource refuses, is told so") {
  zp::limited_resource own(50);  // as a caller's own resource beneath the budget
  zp::limited_resource budget(100, own);
  const auto refused = zp::buffer::allocate(60, budget);
  REQUIRE(!refused);
  CHECK(refused.failure().code == zp::errc::resource_limit);
  CHECK(refused.failure().message == "cannot allocate 60 bytes: the resource refused it");
}

TEST_CASE("buffer: moves hand over the memory, and it is given back exactly once") {
  zp::limited_resource resource(1000);
  {
    zp::buffer a = zp::buffer::allocate(100, resource).value();
    std::byte* const data = a.data();
    zp::buffer b = std::move(a);
    CHECK(b.data() == data);
    CHECK(a.data() == nullptr);  // NOLINT(bugprone-use-after-move): moved-from means empty
    zp::buffer c = zp::buffer::allocate(50, resource).value();
    CHECK(resource.in_use() == 150);
    c = std::move(b);
    CHECK(c.data() == data);
    CHECK(resource.in_use() == 100);
    zp::buffer& self = c;
    c = std::move(self);
    CHECK(c.data() == data);
  }
  CHECK(resource.in_use() == 0);
}

}  // namespace buffer_test
