// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/memory_space.hpp>

#include <doctest/doctest.h>

namespace memory_space_test {

namespace zp = zarrpoint;

TEST_CASE("host_space: what is there is ready") {
  const zp::host_space space;
  CHECK(space.wait({}));
}

namespace {

struct without_wait {
  struct event {};
  static constexpr bool host_accessible = true;
  static constexpr const char* name = "bad";
};

}  // namespace

TEST_CASE("memory_space: asks for the whole set of members") {
  static_assert(zp::memory_space<zp::host_space>);
  static_assert(!zp::memory_space<without_wait>);
  CHECK_FALSE(zp::memory_space<int>);
}

}  // namespace memory_space_test
